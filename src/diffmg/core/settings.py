"""How any model is trained."""

from dataclasses import dataclass
from typing import Literal

from diffmg.core.options import Checked, Count, Fraction, NotNegative, Positive

Select = Literal["loss", "score"]
Links = Literal["sum", "mean"]


@dataclass(frozen=True)
class Settings(Checked):
    """Settings of a training; the defaults are the ones the paper's authors used most."""

    dim: Count = 64
    """Columns of a state."""
    lr: Positive = 0.01
    """Learning rate of Adam."""
    weight_decay: NotNegative = 0.001
    dropout: Fraction = 0.5
    """Share of the projected features dropped while training."""
    layer_norm: bool = True
    """Whether a LayerNorm with learned scale follows the last state."""
    tanh: bool = False
    """Whether tanh follows the projection of the features."""
    max_epochs: Count = 200
    """Full-batch updates at most."""
    patience: Count | None = 30
    """Stop after so many epochs without a better one; None trains to the end."""
    select: Select = "score"
    """The epoch that is kept: highest validation score or lowest validation loss."""
    links: Links = "sum"
    """What becomes of several operations on one link: their messages are summed, or averaged."""
