"""Columns of numbers, of yes and no, and of dates: mean 0, standard deviation 1, missing values at the mean."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder, is_number, nothing


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
    def numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
        """The values as float64, NaN where one is missing."""
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Mean and deviation of what is known."""
        if not cls.takes(values.type):
            return None
        numbers = cls.numbers(values)
        known = numbers[~np.isnan(numbers)]
        largest = float(np.abs(known).max(initial=0.0))
        if not largest or np.ptp(scaled := known / largest) == 0:
            return cls()
        return cls(largest, float(scaled.mean()), float(scaled.std()))

    @property
    def note(self) -> str:
        """The kind of number."""
        return self.words if self.deviation else f"left out (a {self.words} that is always the same)"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """One column."""
        if not (self.takes(values.type) or pa.types.is_null(values.type)):
            raise DiffmgError(f"a {self.words} must be given, but got {values.type}")
        if not self.deviation:
            return nothing(values)
        scaled = (self.numbers(values) / self.largest - self.mean) / self.deviation
        return np.nan_to_num(scaled).astype(np.float32)[:, None]


@COLUMN_TYPES.add("number")
class Number(Standardised):
    """A standardised whole number, fraction or decimal."""

    rank = 20
    words = "number"
    takes = staticmethod(is_number)


@COLUMN_TYPES.add("yes_no")
class YesNo(Standardised):
    """A standardised 0 or 1."""

    rank = 10
    words = "yes or no"
    takes = staticmethod(pa.types.is_boolean)


@COLUMN_TYPES.add("date")
class Date(Standardised):
    """A standardised number of seconds."""

    rank = 30
    words = "date"

    @classmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Dates and moments."""
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Seconds."""
        return Standardised.numbers(values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()))
