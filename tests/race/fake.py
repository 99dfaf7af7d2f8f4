"""An executor that trains nothing: a candidate's score is a known function of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from diffmg.core.candidate import Candidate
from diffmg.race.executor import Collect, Executor
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial


class Fake(Executor):
    """Scores by `value`; a candidate for which it is NaN fails. Remembers every trial."""

    def __init__(self, value: Callable[[Candidate], float]) -> None:
        self.value = value
        self.trials: list[Trial] = []

    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:
        """Outcomes at once."""
        self.trials += trials
        outcomes = [self._outcome(field, trial) for trial in trials]
        return lambda: outcomes

    def close(self) -> None:
        """Nothing was started."""

    def _outcome(self, field: Field, trial: Trial) -> Outcome:
        score = self.value(trial.candidate)
        if math.isnan(score):
            return Outcome(error="it had to fail")
        task = field.on(trial.fold).task
        draw = torch.Generator().manual_seed(int(score * 1e6) + 7 * trial.fold)
        shape = (task.size("val"), task.outputs) if task.outputs else (task.size("val"),)
        votes = torch.rand(shape, generator=draw) * score
        metagraphs = trial.candidate.metagraphs
        return Outcome(score, 1 - score, 10, 5, metagraphs, weights={"w": torch.tensor([score])}, votes=votes)
