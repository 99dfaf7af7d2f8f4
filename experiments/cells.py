"""Cells of a table: the runs of a row on a data set, and figures over them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import Candidate, Run


@dataclass(frozen=True)
class StoredRun:
    """A stored run and, for curves, the validation score of every epoch of the drawn training."""

    run: Run
    history: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By phase."""


@dataclass(frozen=True)
class Cell:
    """All runs of a row on a data set; figures are over all their trainings."""

    stored: tuple[StoredRun, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, by seed."""
        return tuple(stored.run for stored in self.stored)

    @property
    def metric(self) -> str:
        """The metric used for selection."""
        return self.runs[0].metric

    @property
    def device(self) -> str:
        """The device they ran on."""
        return " and ".join(dict.fromkeys(run.device for run in self.runs))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The results of all searches."""
        return tuple(candidate for run in self.runs for candidate in run.candidates)

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """The meta graphs of the first run."""
        return self.runs[0].metagraphs

    @property
    def test(self) -> list[float]:
        """The test score of every training."""
        return [value for run in self.runs for value in run.values("test")]

    @property
    def mean(self) -> float:
        """Mean test score."""
        return statistics.fmean(self.test) if self.test else math.nan

    @property
    def std(self) -> float:
        """Sample standard deviation of the test score; NaN for fewer than two trainings."""
        return statistics.stdev(self.test) if len(self.test) > 1 else math.nan

    @property
    def ensemble(self) -> list[float]:
        """The test score of every ensemble; empty where there are none."""
        return [value for run in self.runs if run.single is not None for value in run.values("test")]

    @property
    def single(self) -> list[float]:
        """The test score of every single model: of a race its best, else that of every training."""
        return [value for run in self.runs for value in _single(run)]

    @property
    def run_seconds(self) -> float:
        """Seconds of a whole run, the median."""
        return statistics.median(sum(run.seconds.values()) for run in self.runs)

    @property
    def run_trainings(self) -> float:
        """Trainings of a whole run, the median: those of its race, or of what its searches found."""
        return statistics.median(map(_trainings, self.runs))

    def median_seconds(self, *phases: str) -> float:
        """Seconds of the phases with this prefix; 0 if there are none."""
        found = [s for run in self.runs for phase, s in run.seconds.items() if phase.startswith(phases)]
        return statistics.median(found) if found else 0.0


def _single(run: Run) -> list[float]:
    return run.values("test") if run.single is None else [run.single.test[run.metric]]


def _trainings(run: Run) -> int:
    if run.spent is not None and run.spent.trainings is not None:
        return run.spent.trainings
    return sum(phase.startswith(("train", "repeat")) for phase in run.seconds)
