"""DARTS (Liu, Simonyan and Yang, ICLR 2019) on DiffMG's search space and encoder.

Every link carries all its candidates, each message multiplied by its α = softmax(λ), in the update of the weights as in
that of λ; the meta graph taken in the end is the arg-max of every link. First order only: their second-order gradient,
which goes through one step of the weights, is left out. So are their cells, their rule of two inputs a node, and their
optimisers: both updates use Adam with DiffMG's settings, weights first, where DARTS alternates from λ on.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffmg.core import METHODS, Settings
from diffmg.methods.search._gradient import ByGradient, GradientSearch
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports
from diffmg.training.job import Search


@METHODS.add("darts")
@dataclass(frozen=True)
class Darts(ByGradient):
    """Options of the search; the defaults are DiffMG's."""

    summary = "all candidates of every link at once, mixed by softmax weights (first order)"

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A search with fresh weights and architecture parameters."""
        return DartsSearch(self, problem, self.depth, settings.dim, seed)


class DartsSearch(GradientSearch):
    """Live state of one search."""

    def _epoch(self, done: Tensor) -> Reports:  # noqa: ARG002
        weights = [t.listed(t.alpha()) for t in self.towers]
        train_loss = self._update_weights(self.everything, weights)
        return train_loss, *self._update_architecture(self.everything, weights)
