"""Columns of dates and times."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from diffmg.tables.columns._base import COLUMN_TYPES
from diffmg.tables.columns._standardised import Standardised


@COLUMN_TYPES.add("date")
@dataclass(frozen=True)
class Date(Standardised):
    """A standardised number of seconds."""

    rank = 30
    words = "date"

    @classmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Dates and moments."""
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Seconds."""
        return values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
