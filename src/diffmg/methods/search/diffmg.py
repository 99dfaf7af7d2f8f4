"""DiffMG's differentiable search (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffmg.core import METHODS
from diffmg.methods.search._exploration import Exploration, OneSample
from diffmg.methods.search._gradient import GradientSearch
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports, update

if TYPE_CHECKING:
    from diffmg.methods.search._gradient import Chosen


@METHODS.add("diffmg")
@dataclass(frozen=True)
class DiffMG(OneSample):
    """Options of the search; the defaults are the paper's."""

    single_level: bool = False
    """Update weights and architecture on one joint loss over training and validation data."""
    all_alpha: bool = False
    """Update every α of a link at once: the update of λ mixes all candidates, that of the weights uses the sample.

    One reading of the row "DiffMG (DARTS)" in the paper's ablation, which does not say what the weights see; the
    method `darts`, which mixes in both updates, is the other.
    """

    summary = "the paper's differentiable search, one sampled operation a link"

    def rules(self) -> dict[str, bool]:
        """Constraints on the options."""
        return {"not (single_level and all_alpha)": not (self.single_level and self.all_alpha)}


@DiffMG.runs
class DiffMGSearch(GradientSearch):
    """A running search."""

    options: DiffMG

    def __init__(self, options: DiffMG, problem: Problem, depth: int, dim: int, seed: int) -> None:
        super().__init__(options, problem, depth, dim, seed)
        self.exploration = Exploration.draw(options, self.towers, seed)

    def _epoch(self, done: Tensor) -> Reports:
        with torch.no_grad():
            picks = [e.pick(t.best(), done) for t, e in zip(self.towers, self.exploration, strict=True)]
        return (self._single_level if self.options.single_level else self._two_levels)(self._sample(picks), picks)

    def _two_levels(self, chosen: Chosen, picks: Sequence[Tensor]) -> Reports:
        weights = [t.weights(p) for t, p in zip(self.towers, picks, strict=True)]
        train_loss = self._update_weights(chosen, weights)
        if self.options.all_alpha:
            chosen, weights = self.everything, [t.listed(t.alpha()) for t in self.towers]
        return train_loss, *self._update_architecture(chosen, weights)

    def _single_level(self, chosen: Chosen, picks: Sequence[Tensor]) -> Reports:
        task = self.problem.task
        weights = [t.weights(p) for t, p in zip(self.towers, picks, strict=True)]
        outputs = self.model(self.problem.graph, chosen, weights)
        train_loss = task.training_loss(outputs, self.steps.done, self.seed)
        val_loss, score = task.evaluate(outputs, "val")
        share = task.size("train") / (task.size("train") + task.size("val"))
        self.arch_optimizer.zero_grad()
        update(self.optimizer, share * train_loss + (1 - share) * val_loss)
        self.arch_optimizer.step()
        return train_loss, val_loss, score
