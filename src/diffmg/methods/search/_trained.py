"""Evaluates meta graphs by training them fully."""

from collections.abc import Sequence
from typing import NamedTuple

from diffmg.core import MetaGraph, Settings, derive_seed
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Training, train_parallel

MetaGraphs = tuple[MetaGraph, ...]
"""One per target type of the task."""


class Trial(NamedTuple):
    """Results of a candidate's best epoch on validation."""

    value: float
    """The selection criterion: validation score, or negative validation loss, as the settings say."""
    train_loss: float
    val_loss: float
    val_score: float

    def record(self, epoch: int) -> Epoch:
        """As the record of a search epoch."""
        return Epoch(epoch, self.train_loss, self.val_loss, self.val_score)


def judge(problem: Problem, candidates: Sequence[MetaGraphs], settings: Settings, seed: int) -> list[Trial]:
    """Train every candidate fully, all from the same seed, so that only the meta graphs differ."""
    start = derive_seed(seed, "train")
    return [_trial(t) for t in train_parallel(problem, [(c, start) for c in candidates], settings)]


def _trial(training: Training) -> Trial:
    if training.best_epoch == 0:  # every score was NaN
        return Trial(-float("inf"), *[float("nan")] * 3)
    return Trial(training.best_value, *training.steps.records[training.best_epoch - 1].tolist())
