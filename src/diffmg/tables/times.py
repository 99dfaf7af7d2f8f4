"""Times of rows in microseconds, from columns of dates, of moments and of text; and periods of time."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.core.arrow import decoded

Ints = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).min)
"""The time of a row without one, as NumPy has it."""
UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of a unit."""
DAY = UNITS["d"] * 1_000_000
MOMENT = pa.timestamp("us")
DATE = r"^\d{4}-\d{2}-\d{2}$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})$"


def row_times(values: pa.ChunkedArray, what: str) -> Ints:
    """When rows are known: a bare date means the end of that day; `NEVER` where the time is missing."""
    times, bare = _parsed(decoded(values), what)
    return np.where(bare & (times != NEVER), times + DAY - 1, times)


def moments(values: pa.ChunkedArray, what: str) -> Ints:
    """When predictions are made: a bare date means the beginning of that day."""
    times, _ = _parsed(decoded(values), what)
    if (times == NEVER).any():
        raise DiffmgError(
            f"every prediction needs a moment, but got {int((times == NEVER).sum())} rows without one in {what}; "
            "leave them out"
        )
    return times


def moment(text: str, what: str) -> int:
    """One moment, written as a date or as a date and a time."""
    return int(moments(pa.chunked_array([[text]]), what)[0])


def period(text: str) -> int:
    """A period such as 30d or 12h, in microseconds."""
    match = re.fullmatch(r"(\d+)\s*([a-z]+)", text.strip())
    if match is None or match[2] not in UNITS or not int(match[1]):
        raise DiffmgError(f"a period is a number and one of {', '.join(UNITS)}, such as 30d, but got {text!r}")
    return int(match[1]) * UNITS[match[2]] * 1_000_000


def is_time(values: pa.ChunkedArray) -> bool:
    """Whether a column holds dates or moments, also as text."""
    kind = decoded(values).type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    if not pa.types.is_string(kind) or values.null_count == len(values):
        return False
    try:
        _parsed(decoded(values), "")
    except DiffmgError:
        return False
    return True


def _parsed(values: pa.ChunkedArray, what: str) -> tuple[Ints, NDArray[np.bool_]]:
    """Microseconds, and which values are bare dates: all of a column in which no value has a time of day."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _from_text(values, what)
    if pa.types.is_timestamp(values.type):
        times = _microseconds(values.cast(pa.timestamp("us", values.type.tz), safe=False).cast(MOMENT))
        return times, np.full(len(times), bool((times[times != NEVER] % DAY == 0).all()))
    if pa.types.is_date(values.type) or pa.types.is_null(values.type):
        times = _microseconds(values.cast(pa.date32()).cast(MOMENT))
        return times, np.ones(len(times), bool)
    raise DiffmgError(
        f"times must be dates, moments or text such as 2024-01-31, but got {values.type} in {what}; convert them"
    )


def _from_text(values: pa.ChunkedArray, what: str) -> tuple[Ints, NDArray[np.bool_]]:
    values = pc.utf8_trim_whitespace(values)
    values = pc.if_else(pc.equal(values, ""), pa.scalar(None, values.type), values)
    bare = np.asarray(pc.fill_null(pc.match_substring_regex(values, DATE), True).to_numpy(zero_copy_only=False), bool)
    zones = pc.match_substring_regex(values, ZONE)
    zoned = np.asarray(pc.fill_null(zones, False).to_numpy(zero_copy_only=False), bool) & ~bare
    if zoned.any() and not (zoned | bare).all():
        raise DiffmgError(
            f"moments must all have a time zone or none of them, but got both in {what}, such as "
            f"{values.filter(pa.array(zoned))[0].as_py()!r} and {values.filter(pa.array(~zoned & ~bare))[0].as_py()!r}"
        )
    kind = pa.timestamp("us", "UTC") if zoned.any() else MOMENT
    written = pc.if_else(pa.chunked_array([bare]), pc.binary_join_element_wise(values, _midnight(zoned), ""), values)
    try:
        return _microseconds(written.cast(kind).cast(MOMENT)), bare
    except pa.ArrowInvalid as error:
        raise DiffmgError(
            f"dates are written 2024-01-31 or 2024-01-31T12:30, but got others in {what}: {error}; convert them"
        ) from error


def _midnight(zoned: NDArray[np.bool_]) -> str:
    return "T00:00:00Z" if zoned.any() else "T00:00:00"


def _microseconds(values: pa.ChunkedArray) -> Ints:
    return np.asarray(values.cast(pa.int64()).fill_null(NEVER).to_numpy(), np.int64)
