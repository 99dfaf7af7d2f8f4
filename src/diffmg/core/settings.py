"""Training settings shared by all methods, and the switches of a meta graph's encoder."""

from dataclasses import dataclass, fields
from typing import Literal

from diffmg.core.options import Checked, Count, Fraction, NotNegative, Positive, Share

Select = Literal["loss", "score", "last"]
Links = Literal["sum", "mean"]
Activation = Literal["gelu", "relu", "none"]
Aggregate = Literal["paper", "mean", "symmetric", "sum"]
States = Literal["last", "mean", "concat", "attention"]


@dataclass(frozen=True)
class Switches(Checked):
    """What a meta graph's encoder computes besides the meta graph itself; the defaults are the paper's encoder."""

    layer_norm: bool = True
    """Whether a LayerNorm with learned scale follows the last state."""
    activation: Activation = "gelu"
    """What follows the norm."""
    tanh: bool = False
    """Whether tanh follows the projection of the features."""
    shared_map: bool = True
    """Whether all types pass through one more affine map, shared by them, before the first message."""
    shared_tables: bool = False
    """Whether the two towers of a recommendation share projections and learned vectors."""
    vectors: bool = False
    """Whether types with features also have a learned vector per node, added to the projection."""
    counts: bool = False
    """Whether the logarithms of a node's numbers of neighbours (and total weights), by relation, are features."""
    label_inputs: bool = False
    """Whether training labels are inputs too; a node never hears its own."""
    aggregate: Aggregate = "paper"
    """How messages of neighbours are normalised: `paper` is the mean between two types, symmetric within one."""
    self_loops: bool = True
    """Whether a node's own state takes part where it receives messages."""
    links: Links = "sum"
    """Whether messages of several operations on one link are summed or averaged."""
    states: States = "last"
    """What the target reads: the last state, the mean of all, or all of them, projected and fused."""
    residual: bool = False
    """Whether a learned gate mixes state 0 into the result."""
    biases: bool = False
    """Whether every node of a recommendation has a learned bias, added to its scores."""
    input_dropout: Fraction = 0.0
    """Dropout rate of the features."""
    message_dropout: Fraction = 0.0
    """Dropout rate of the result, before norm and activation."""


@dataclass(frozen=True)
class Settings(Switches):
    """Training settings; the defaults are those the paper's authors used most often."""

    dim: Count = 64
    """Hidden dimension: columns of a state."""
    lr: Positive = 0.01
    """Learning rate of Adam."""
    weight_decay: NotNegative = 0.001
    dropout: Fraction = 0.5
    """Dropout rate of the projected features."""
    balance: Share = 0.0
    """How much the loss evens classes out: a class of n training nodes weighs as 1 / n ** balance."""
    max_epochs: Count = 200
    """Maximum number of full-batch updates."""
    patience: Count | None = 30
    """Stop after this many epochs without improvement; None disables early stopping."""
    select: Select = "score"
    """Which epoch's weights are kept: highest validation score, lowest validation loss, or the last."""

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in given.items())})"
