"""Numeric, boolean and date columns: standardised, missing values set to the mean."""

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
    """Standardises after dividing by the largest magnitude, so that squares of huge numbers do not overflow."""

    largest: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    """0 for a constant column."""

    words: ClassVar[str]

    @classmethod
    @abstractmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Whether this encoder accepts a column of this Arrow type."""

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
        """The values as float64, NaN where missing."""
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Mean and standard deviation of the values that are not missing."""
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
        """The kind of column."""
        return self.words if self.deviation else f"left out (a {self.words} that is always the same)"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """One standardised column."""
        if not (self.takes(values.type) or pa.types.is_null(values.type)):
            raise DiffmgError(f"a {self.words} must be given, but got {values.type}")
        if not self.deviation:
            return nothing(values)
        scaled = (self.numbers(values) / self.largest - self.mean) / self.deviation
        return np.nan_to_num(scaled).astype(np.float32)[:, None]


@COLUMN_TYPES.add("number")
class Number(Standardised):
    """A standardised integer, float or decimal."""

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
        """Dates and timestamps."""
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Seconds since the epoch."""
        return Standardised.numbers(values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()))
