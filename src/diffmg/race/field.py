"""What a race is run on: a problem, and its task on every fold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffmg.core.task import Folds
from diffmg.tasks.problem import Problem

FOLDS = 5
FEW = 2000
"""Validation parts with fewer examples than this are judged on folds too."""
LEAST = 10
"""Examples a fold must have on average."""


@dataclass(frozen=True)
class Field:
    """A problem, and its task on every fold; without folds where its validation part is large enough."""

    problem: Problem
    folds: Folds | None = None

    @classmethod
    def of(cls, problem: Problem, folds: int | None = None, seed: int = 0) -> Field:
        """With folds where the validation part is small and the task has folds; `folds` says how many, 0 for none."""
        task = problem.task
        known = task.size("train") + task.size("val")
        small = known >= FOLDS * LEAST and task.size("val") < FEW
        count = (FOLDS if small else 0) if folds is None else folds
        return cls(problem, task.folds(count, seed) if count else None)

    @property
    def count(self) -> int:
        """The number of folds."""
        return 0 if self.folds is None else len(self.folds.tasks)

    @property
    def forward(self) -> bool:
        """Whether its folds go forward in time."""
        return self.folds is not None and self.folds.forward

    def on(self, fold: int) -> Problem:
        """The problem on a fold; 0 for the task's own split."""
        if fold == 0 or self.folds is None:
            return self.problem
        return replace(self.problem, task=self.folds.tasks[fold - 1])
