"""Dates that are written as text, as SQLite keeps them: standardised as dates are."""

from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.tables.columns._base import COLUMN_TYPES
from diffmg.tables.columns.numeric import Date

ISO = r"^\s*\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}\S*)?\s*$"
DAY = len("2024-01-31")


@COLUMN_TYPES.add("written_date")
class WrittenDate(Date):
    """A text such as 2024-01-31, with or without a time of day: its day, as a standardised number of seconds."""

    rank = 33
    words = "date, written as text"

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Takes a column of texts that are all dates, or empty."""
        if not pa.types.is_string(values.type):
            return None
        known = values.filter(pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(values)), 0))
        dates = len(known) > 0 and pc.all(pc.match_substring_regex(known, ISO)).as_py() and not _days(known).null_count
        return super().fit(values) if dates else None

    @classmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Texts, and what has become a date since."""
        return bool(pa.types.is_string(kind)) or super().takes(kind)

    @staticmethod
    def numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Seconds since the epoch; what is no date counts as missing."""
        return Date.numbers(_days(values) if pa.types.is_string(values.type) else values)


def _days(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    days = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(texts), 0, DAY)
    return pc.strptime(days, format="%Y-%m-%d", unit="s", error_is_null=True)
