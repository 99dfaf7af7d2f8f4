"""Neural network parts: affine maps, the encoder, the model of a task."""

from diffmg.nn.affine import Affine
from diffmg.nn.encoder import Encoder, EncoderOptions
from diffmg.nn.model import DerivedModel, Model

__all__ = ["Affine", "DerivedModel", "Encoder", "EncoderOptions", "Model"]
