"""Times of rows in microseconds, from columns of dates, of moments and of text; and periods of time."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.core.arrow import decoded
from diffmg.tables.dates import FORMS, form_of, is_iso, no_date, to_iso

Ints = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).min)
"""The time of a row without one, as NumPy has it."""
ALWAYS = int(np.iinfo(np.int64).max)
"""Later than all times."""
UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of a unit."""
DAY = UNITS["d"] * 1_000_000
MOMENT = pa.timestamp("us")
SAMPLE = 1000
"""Different texts that the form of a column's dates is recognised from."""
DATE = r"^\d{4}-\d{2}-\d{2}$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
CALLED = re.compile(r"^(ts|day|when)$|(date|time|timestamp|_at|_on|_ts)$")
"""Names of columns with a number that may count days or seconds."""
DAYS = (19_000_101, 21_001_231)
"""Days as numbers, such as 20240131."""
EPOCHS = {1e8 * unit: 1e6 / unit for unit in (1, 1e3, 1e6, 1e9)}
"""The least number of seconds, milliseconds ... since 1970 that is taken for a time, and its microseconds."""
LONGEST = 50
"""The largest over the least of these numbers: the years 1973 to 2128."""


def row_times(values: pa.ChunkedArray, what: str, before: int = ALWAYS) -> Ints:
    """When rows are known: a bare date means the end of that day; `NEVER` where the time is missing.

    Whether midnights are bare dates is told by the rows `before` a time, so that no later row decides it.
    """
    times, bare = _parsed(decoded(values), what, before)
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
    try:
        return int(moments(pa.chunked_array([[text]]), what)[0])
    except DiffmgError as error:
        raise DiffmgError(f"{what} is written 2024-01-31 or 2024-01-31T12:30, but got {text!r}") from error


def written_like(text: str, values: pa.ChunkedArray, what: str) -> pa.Scalar:
    """One moment as the moments of a column are written: as their type, and of texts in their form."""
    time, values = moment(text, "a moment"), decoded(values)
    kind = values.type
    if pa.types.is_timestamp(kind):
        return pa.scalar(time, pa.int64()).cast(pa.timestamp("us", kind.tz)).cast(kind, safe=False)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.scalar(_text_like(time, values, what), kind)
    low = pc.min(values).as_py() if _is_number(kind) else None
    if low is not None and not DAYS[0] <= low <= DAYS[1]:
        return pa.scalar(round(time / _scale(values, what)), pa.int64()).cast(kind)
    if time % DAY:
        raise DiffmgError(f"{what} are bare dates, so a moment is one too, such as 2024-01-31, but got {text!r}")
    day = np.datetime64(time, "us").item()
    return pa.scalar(int(day.strftime("%Y%m%d")) if low is not None else day.date()).cast(kind)


def _text_like(time: int, values: pa.ChunkedArray, what: str) -> str:
    """A moment in the form of these texts; without the time of day where that is midnight."""
    form = form_of(pc.unique(values)[:SAMPLE].to_pylist(), what)
    found = np.datetime64(time, "us").item()
    if time % DAY == 0:
        return str(found.strftime(form or "%Y-%m-%d"))
    if form:
        return str(found.strftime(f"{form} %H:%M:%S"))
    zoned = pc.any(pc.match_substring_regex(values, f":.*{ZONE}")).as_py()
    return f"{found.isoformat()}{'Z' if zoned else ''}"


def period(text: str) -> int:
    """A period such as 30d or 12h, in microseconds."""
    match = re.fullmatch(r"(\d+)\s*([a-z]+)", text.strip())
    if match is None or match[2] not in UNITS or not int(match[1]):
        raise DiffmgError(
            f"a period is a number from 1 on and one of {', '.join(UNITS)}, such as 30d, but got {text!r}"
        )
    return int(match[1]) * UNITS[match[2]] * 1_000_000


def is_time(values: pa.ChunkedArray, name: str = "") -> bool:
    """Whether a column holds dates or moments: also as text, and as numbers if its name says so."""
    values = decoded(values)
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    able = (
        bool(CALLED.search(name.lower())) if _is_number(kind) else pa.types.is_string(kind) and begins_as_date(values)
    )
    if not able or values.null_count == len(values):
        return False
    try:
        _parsed(values, "")
    except DiffmgError:
        return False
    return True


def begins_as_date(values: pa.ChunkedArray) -> bool:
    """Whether the first text is a date: quick, and false of most texts."""
    first = next((text.strip() for text in values.slice(0, SAMPLE).to_pylist() if text and text.strip()), "")
    return re.match(r"\d{4}-\d{2}-\d{2}", first) is not None or any(to_iso(form, first) for form in FORMS)


def _parsed(values: pa.ChunkedArray, what: str, before: int = ALWAYS) -> tuple[Ints, NDArray[np.bool_]]:
    """Microseconds, and which values are bare dates: midnights of a column in which none `before` has a time of day."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _from_text(values, what)
    if pa.types.is_timestamp(values.type):
        times = _microseconds(values.cast(pa.timestamp("us", values.type.tz), safe=False).cast(MOMENT))
        early = (times != NEVER) & (times < before)
        return times, (times % DAY == 0) & bool((times[early] % DAY == 0).all())
    if _is_number(values.type):
        return _from_numbers(values, what)
    if pa.types.is_date(values.type) or pa.types.is_null(values.type):
        times = _microseconds(values.cast(pa.date32()).cast(MOMENT))
        return times, np.ones(len(times), bool)
    raise DiffmgError(
        f"times must be dates, moments or text such as 2024-01-31, but got {values.type} in {what}; convert them"
    )


def _from_text(values: pa.ChunkedArray, what: str) -> tuple[Ints, NDArray[np.bool_]]:
    values = pc.utf8_trim_whitespace(values)
    values = _in_iso(pc.if_else(pc.equal(values, ""), pa.scalar(None, values.type), values), what)
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
        texts = pc.unique(values.drop_null()).to_pylist()
        raise no_date(next((text for text in texts if not _is_whole(text)), texts[0]), what) from error


def _is_whole(text: str) -> bool:
    """Whether an ISO text is a day or a moment: no month or year, and one that there is."""
    return len(text) >= len("2024-01-31") and is_iso(text)


def _in_iso(values: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Texts of another common form, written as ISO dates; unclear ones are refused."""
    if pc.all(pc.match_substring_regex(values, r"^\d{4}-\d{2}-\d{2}([ T]|$)")).as_py() is not False:
        return values
    coded = values.combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    form = form_of(texts[:SAMPLE], what)
    if not form:
        return values
    written = [to_iso(form, text) for text in texts]
    if not all(written):
        raise no_date(texts[written.index("")], what)
    return pa.chunked_array([pa.array(written, pa.string()).take(coded.indices)])


def _from_numbers(values: pa.ChunkedArray, what: str) -> tuple[Ints, NDArray[np.bool_]]:
    """Days such as 20240131, or seconds, milliseconds ... since 1970."""
    least, most = pc.min_max(values).values()
    low, high = (float(end.as_py()) if end.is_valid else float(DAYS[0]) for end in (least, most))
    if DAYS[0] <= low and high <= DAYS[1]:
        return _from_text(values.cast(pa.int64()).cast(pa.string()), what)
    scale = _scale(values, what)
    numbers = np.asarray(pc.fill_null(values, 0).cast(pa.float64(), safe=False).to_numpy())
    missing = np.asarray(values.is_null().to_numpy(), bool)
    return np.where(missing, NEVER, (numbers * scale).astype(np.int64)), np.zeros(len(numbers), bool)


def _scale(values: pa.ChunkedArray, what: str) -> float:
    """The microseconds of one unit of numbers that count seconds, milliseconds ... since 1970."""
    least, most = pc.min_max(values).values()
    for start, scale in EPOCHS.items():
        if start <= float(least.as_py()) and float(most.as_py()) <= LONGEST * start:
            return scale
    raise DiffmgError(
        f"times that are numbers must be days such as 20240131, or seconds since 1970, but got {least} to {most} "
        f"in {what}; convert them to dates"
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _midnight(zoned: NDArray[np.bool_]) -> str:
    return "T00:00:00Z" if zoned.any() else "T00:00:00"


def _microseconds(values: pa.ChunkedArray) -> Ints:
    return np.asarray(values.cast(pa.int64()).fill_null(NEVER).to_numpy(), np.int64)
