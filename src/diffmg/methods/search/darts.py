"""DARTS (Liu, Simonyan and Yang, ICLR 2019) on DiffMG's search space and encoder.

Every link mixes all its candidates, each message weighted by its α = softmax(λ), in the updates of both the weights and
λ; the result is the arg-max candidate of every link. First order only: their second-order gradient, through one step of
the weights, is left out. So are their cells, their rule of two inputs per node, and their optimisers: both updates use
Adam with DiffMG's settings, and each epoch updates the weights first, where DARTS starts with λ.
"""

from dataclasses import dataclass

from torch import Tensor

from diffmg.core import METHODS
from diffmg.methods.search._gradient import ByGradient, GradientSearch
from diffmg.training.epochs import Reports


@METHODS.add("darts")
@dataclass(frozen=True)
class Darts(ByGradient):
    """Options of the search; the defaults are DiffMG's."""

    summary = "all candidates of every link at once, mixed by softmax weights (first order)"


@Darts.runs
class DartsSearch(GradientSearch):
    """A running search."""

    def _epoch(self, done: Tensor) -> Reports:  # noqa: ARG002
        weights = [t.listed(t.alpha()) for t in self.towers]
        train_loss = self._update_weights(self.everything, weights)
        return train_loss, *self._update_architecture(self.everything, weights)
