"""What a race is run on: a problem, and its task on every fold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffmg.core.task import Folds
from diffmg.race.board import OWN, Turn
from diffmg.tasks.problem import Problem

FOLDS = 5
FEW = 2000
"""Validation parts with fewer examples than this are judged on folds too."""
REPEATS = (Turn(0, 1), Turn(0, 2))
"""Further trainings of a finalist where there are no folds."""
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

    @property
    def further(self) -> tuple[Turn, ...]:
        """Further trainings of a finalist: on the folds but for the own split, or from other seeds."""
        return tuple(Turn(fold, 0) for fold in range(1, self.count + 1 - self.forward)) or REPEATS

    @property
    def turns(self) -> tuple[Turn, ...]:
        """For each fold, the training that is judged on it; the last of those that go forward is the own split."""
        return (*self.further, *([OWN] if self.forward else [])) if self.count else ()

    def on(self, fold: int) -> Problem:
        """The problem on a fold; 0 for the task's own split."""
        if fold == 0 or self.folds is None:
            return self.problem
        return replace(self.problem, task=self.folds.tasks[fold - 1])
