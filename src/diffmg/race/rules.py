"""How a race goes: its budget, its batches, and how much of it explores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffmg.core import Method, Plan
from diffmg.core.budget import Budget
from diffmg.core.candidate import PROPOSERS
from diffmg.engine.backend import Backend
from diffmg.race.board import Turn
from diffmg.race.field import REPEATS, Field

BATCH = {False: 4, True: 48}
"""Trials of a batch, on a CPU and on a card: part of the plan, so the result does not depend on the number of cores."""
AT_ONCE = 2
"""Trials of a batch on a CPU for each that is trained at a time, so that cores do not wait long for the last one."""
AHEAD = 1
"""Batches of a CPU that are begun ahead of the one whose results are awaited."""
JUDGED = 20
"""Candidates that a budget in seconds should be able to judge on a CPU, if need be by fewer epochs."""
EXPLORE = {True: 0.6, False: 0.75}
"""Share of the budget that explores, with folds and without."""


@dataclass(frozen=True)
class Rules:
    """How a race goes; all of it is part of the plan."""

    budget: Budget
    seed: int
    batch: int
    turns: Sequence[Turn] = REPEATS
    """Further trainings of a finalist."""
    proposers: Sequence[str] = PROPOSERS
    hasty: bool = False
    """Whether trainings that explore are stopped early where a budget in seconds is short."""
    ahead: int = 0
    """Batches that are begun before the results of the one before are known, so that no core waits for the last."""

    @classmethod
    def of(cls, field: Field, budget: Budget, seed: int, method: Method, batch: int | None = None) -> Rules:
        """The rules for a method on a problem."""
        accelerated = Backend.of(field.problem.graph).accelerated
        batch = batch or BATCH[accelerated]
        ahead = 0 if accelerated else AHEAD
        return cls(budget, seed, batch, field.further, method.proposers, hasty=not accelerated, ahead=ahead)

    @property
    def patience(self) -> float | None:
        """Seconds that a training which explores may take, so that enough candidates are judged in time."""
        seconds, workers = self.budget.seconds, max(1, self.batch // AT_ONCE)
        return self.share * seconds * workers / JUDGED if self.hasty and seconds is not None else None

    @property
    def share(self) -> float:
        """The share of the budget that explores."""
        return EXPLORE[self.turns != REPEATS]


def batch_of(plan: Plan, cores: int) -> int | None:
    """Trials of a batch where time is what limits a race: enough for all cores; None where nothing is to be changed.

    Where trainings are counted, the same plan gives the same result on any number of cores.
    """
    if plan.batch is not None or plan.budget is None or plan.budget.seconds is None:
        return plan.batch
    return max(BATCH[False], AT_ONCE * cores)
