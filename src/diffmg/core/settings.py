"""Training settings shared by all methods."""

from dataclasses import dataclass
from typing import Literal

from diffmg.core.options import Checked, Count, Fraction, NotNegative, Positive

Select = Literal["loss", "score"]
Links = Literal["sum", "mean"]


@dataclass(frozen=True)
class Settings(Checked):
    """Training settings; the defaults are those the paper's authors used most often."""

    dim: Count = 64
    """Hidden dimension: columns of a state."""
    lr: Positive = 0.01
    """Learning rate of Adam."""
    weight_decay: NotNegative = 0.001
    dropout: Fraction = 0.5
    """Dropout rate of the projected features."""
    layer_norm: bool = True
    """Whether a LayerNorm with learned scale follows the last state."""
    tanh: bool = False
    """Whether tanh follows the projection of the features."""
    max_epochs: Count = 200
    """Maximum number of full-batch updates."""
    patience: Count | None = 30
    """Stop after this many epochs without improvement; None disables early stopping."""
    select: Select = "score"
    """Which epoch's weights are kept: highest validation score or lowest validation loss."""
    links: Links = "sum"
    """Whether messages of several operations on one link are summed or averaged."""
