"""How any model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from diffmg.core.codec import check_names
from diffmg.core.options import check_rules, check_types

Select = Literal["loss", "score"]
Links = Literal["sum", "mean"]


@dataclass(frozen=True)
class Settings:
    """Settings of a training; the defaults are the ones the paper's authors used most."""

    dim: int = 64
    lr: float = 0.01
    weight_decay: float = 0.001
    dropout: float = 0.5
    layer_norm: bool = True
    tanh: bool = False
    """Whether tanh follows the projection of the features."""
    max_epochs: int = 200
    patience: int | None = 30
    """Stop after so many epochs without a better one; None trains to the end."""
    select: Select = "score"
    """The epoch that is kept: highest validation score or lowest validation loss."""
    links: Links = "sum"
    """What becomes of several operations on one link: their messages are summed, or averaged."""

    def __post_init__(self) -> None:
        check_types(self)
        rules = {
            "dim >= 1": self.dim >= 1,
            "lr > 0": self.lr > 0,
            "weight_decay >= 0": self.weight_decay >= 0,
            "0 <= dropout < 1": 0 <= self.dropout < 1,
            "max_epochs >= 1": self.max_epochs >= 1,
            "patience >= 1 or None": self.patience is None or self.patience >= 1,
        }
        check_rules(self, rules)

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """The same with some fields changed; unknown ones raise with the nearest."""
        check_names(changes, Settings, "training setting")
        return replace(self, **changes)
