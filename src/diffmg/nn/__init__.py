"""Neural network parts: affine maps, the encoder, the model of a task."""

from diffmg.nn.affine import Affine
from diffmg.nn.derived import DerivedModel
from diffmg.nn.encoder import Encoder
from diffmg.nn.model import Model

__all__ = ["Affine", "DerivedModel", "Encoder", "Model"]
