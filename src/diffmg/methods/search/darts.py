"""DARTS (Liu, Simonyan and Yang, ICLR 2019) on DiffMG's search space and encoder.

Every link carries all its candidates, each message multiplied by its α = softmax(λ), in the update of the weights as in
that of λ; the meta graph taken in the end is the arg-max of every link. First order only: their second-order gradient,
which goes through one step of the weights, is left out. So are their cells, their rule of two inputs a node, and their
optimisers: both updates use Adam with DiffMG's settings, weights first, where DARTS alternates from λ on.
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
    """Live state of one search."""

    def _epoch(self, done: Tensor) -> Reports:  # noqa: ARG002
        weights = [t.listed(t.alpha()) for t in self.towers]
        train_loss = self._update_weights(self.everything, weights)
        return train_loss, *self._update_architecture(self.everything, weights)
