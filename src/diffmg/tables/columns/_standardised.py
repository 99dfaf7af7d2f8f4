"""Numbers of any kind: mean 0, standard deviation 1, missing ones at the mean."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.tables.columns._base import Block, ColumnEncoder, nothing


@dataclass(frozen=True)
class Standardised(ColumnEncoder):
    """The largest size, and mean and deviation after dividing by it: squares of huge numbers would be infinite."""

    largest: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    """0 for a column that is always the same."""

    words: ClassVar[str]

    @classmethod
    @abstractmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Whether a column of this Arrow type is one of these."""

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
        """The values as float64."""
        return values.cast(pa.float64(), safe=False)

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Mean and deviation of what is known."""
        if not cls.takes(values.type):
            return None
        numbers = _floats(cls.numbers(values))
        known = numbers[~np.isnan(numbers)]
        largest = float(np.abs(known).max(initial=0.0))
        if not largest or np.ptp(known / largest) == 0:
            return cls()
        scaled = known / largest
        return cls(largest, float(scaled.mean()), float(scaled.std()))

    @property
    def note(self) -> str:
        """The kind of number."""
        return self.words if self.deviation else f"left out (a {self.words} that is always the same)"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """One column."""
        if not self.deviation:
            return nothing(values)
        scaled = (_floats(self.numbers(values)) / self.largest - self.mean) / self.deviation
        return np.nan_to_num(scaled).astype(np.float32)[:, None]


def _floats(values: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(values.to_numpy()).astype(np.float64)
