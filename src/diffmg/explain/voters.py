"""The networks that a model's answers come from: itself, or the members of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from diffmg.core import DiffmgError, Method
from diffmg.methods.ensemble import Ensemble, EnsembleNetwork
from diffmg.nn import DerivedModel


@dataclass(frozen=True)
class Voter:
    """A network, and the weight of its votes."""

    name: str
    """Of its method."""
    network: nn.Module
    weight: float = 1.0
    fold: int = 0
    """0 where it was trained on the task's own split, else the number of the fold, from 1."""
    refitted: bool = False
    """Whether it was trained on validation labels too."""

    @property
    def explained(self) -> bool:
        """Whether it has a meta graph."""
        return isinstance(self.network, DerivedModel)


def voters_of(method: Method, network: nn.Module) -> list[Voter]:
    """The networks behind a model; raises if none of them has a meta graph."""
    if isinstance(method, Ensemble) and isinstance(network, EnsembleNetwork):
        several = zip(method.members, network.members, strict=True)
        found = [Voter(m.method.name, part, m.weight, m.fold, bool(m.joined)) for m, part in several]
    else:
        found = [Voter(method.name, network)]
    if not any(voter.explained for voter in found):
        names = ", ".join(sorted({voter.name for voter in found}))
        raise DiffmgError(
            f"an explanation goes by meta paths, so it needs a model with a meta graph, but got one of {names}; "
            "fit with `auto`, `diffmg` or another method that `diffmg list` shows with a meta graph"
        )
    return found
