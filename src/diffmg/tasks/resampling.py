"""Resamples of a part: the same examples drawn with replacement, to see how much a score depends on which ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core.task import RESAMPLES

LEAST, ROWS = 50, 8_000_000
"""Fewer resamples, down to the least, where they would have more rows than this in all."""
KNOWN = 25
"""Resamples with a score that a standard error needs."""
SEED = 0


@dataclass(frozen=True)
class Resampled:
    """A score on many resamples; two models have the same ones, so that their scores can be compared one by one."""

    scores: NDArray[np.float64]
    units: int
    of: str

    @property
    def error(self) -> float | None:
        """The standard error; None where too few resamples have a score, or where all have the same.

        A perfect score is perfect on every resample, which says nothing about how sure it is.
        """
        found = self.scores[np.isfinite(self.scores)]
        error = float(found.std(ddof=1)) if len(found) > KNOWN else 0.0
        return error if error > 0 else None

    def minus(self, other: Resampled) -> NDArray[np.float64]:
        """How much higher each score is than the other model's on the same resample, where both have one."""
        found = self.scores - other.scores
        return found[np.isfinite(found)]


def resamples(units: int, most: int = RESAMPLES) -> Iterator[Tensor]:
    """The numbers of the drawn units, one tensor per resample; the same for the same number of units."""
    rng = np.random.default_rng(SEED)
    for _ in range(how_many(units, most)):
        yield torch.from_numpy(np.sort(rng.integers(0, units, units)))


def how_many(units: int, most: int = RESAMPLES) -> int:
    """The number of resamples for this many units."""
    return int(min(most, max(LEAST, ROWS // max(1, units))))


def mean_on_resamples(values: NDArray[np.float64], most: int = RESAMPLES) -> NDArray[np.float64]:
    """The mean of a number per unit on every resample."""
    return np.array([values[rows.numpy()].mean() for rows in resamples(len(values), most)])


def rows_of_groups(group: Tensor, units: int, drawn: Tensor) -> Tensor:
    """The rows of the drawn groups, each as often as its group was drawn; `group` numbers the group of each row."""
    times = torch.bincount(drawn, minlength=units)
    return torch.arange(len(group)).repeat_interleave(times[group])
