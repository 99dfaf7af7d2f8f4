"""DiffMG with two corrections that make its result depend less on the seed.

- Messages are not multiplied by α. In the paper every message carries its α, a number near 1 / candidates, so a path of
  k relations is scaled by a product of k small numbers and short paths drown long ones; the derived model has no such
  factors. Here the factor of a message is 1 in the forward pass, and its gradient is passed on to α (straight-through).
- The first share of the epochs samples uniformly, so that every candidate's weights are trained before λ chooses which
  ones are trained further. After that, ε is annealed as in the paper.

Everything else is the paper's: one sampled operation per link serves both updates, the weights on the training loss and
λ on the validation loss, and the result is the arg-max.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from diffmg.core import METHODS, Share
from diffmg.methods.search._exploration import Exploration, OneSample
from diffmg.methods.search._gradient import GradientSearch, straight_through
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports


@METHODS.add("diffmg_corrected")
@dataclass(frozen=True)
class DiffMGCorrected(OneSample):
    """Options of the search; shared options default to DiffMG's values."""

    warm_up: Share = 0.5
    """Share of the epochs, from the first, that sample uniformly."""

    summary = "DiffMG with unscaled messages and uniform sampling at first"
    tunable: ClassVar = {"warm_up": (0.0, 0.5, 0.8)}

    def epsilons(self) -> Tensor:
        """1 while warming up, then annealed."""
        first = round(self.warm_up * self.epochs)
        return torch.cat([torch.ones(first), self.epsilon * self.decay ** torch.arange(self.epochs - first)])


@DiffMGCorrected.runs
class DiffMGCorrectedSearch(GradientSearch):
    """A running search."""

    def __init__(self, options: DiffMGCorrected, problem: Problem, depth: int, dim: int, seed: int) -> None:
        super().__init__(options, problem, depth, dim, seed)
        self.exploration = Exploration.draw(options, self.towers, seed)

    def _epoch(self, done: Tensor) -> Reports:
        with torch.no_grad():
            picks = [e.pick(t.best(), done) for t, e in zip(self.towers, self.exploration, strict=True)]
        chosen = self._sample(picks)
        train_loss = self._update_weights(chosen, None)
        factors = [straight_through(t.weights(p)) for t, p in zip(self.towers, picks, strict=True)]
        return train_loss, *self._update_architecture(chosen, factors)
