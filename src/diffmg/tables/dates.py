"""Dates that are written as text: ISO, or one of the common forms, if it is clear which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

from diffmg.core import DiffmgError

ISO = r"[0-9]{4}(-[0-9]{2}(-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?)?)?"
"""A year, month, day or moment without a time zone; a part of a date stands for all of it, up to its end."""
ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
FORMS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y",
)  # fmt: skip
"""Common forms of a day; a time of day may follow."""
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")
MOST_KEPT = 100_000
HOW = "write dates as 2024-01-31 or 2024-01-31T12:30"


def iso_moment(time: str) -> str:
    """A time given by a person, as `2024-01-31 12:30:00.000000` in UTC; a part of a date is its beginning."""
    padded = re.sub(r"^([0-9]{4})$", r"\1-01", time.strip())
    padded = re.sub(r"^([0-9]{4}-[0-9]{2})$", r"\1-01", padded)
    return moment(padded).isoformat(" ", "microseconds")


def moment(time: str) -> datetime:
    """Parse a time as naive UTC; without a time zone, UTC is assumed."""
    try:
        found = datetime.fromisoformat(time)
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except ValueError as error:
        raise DiffmgError(f"a time is written 2024-01-31 or 2024-01-31T12:30, but got {time!r}") from error
    except OverflowError as error:
        raise DiffmgError(f"a time must be from the year 1 to 9999 in UTC, but got {time!r}") from error


def form_of(texts: Sequence[str], what: str) -> str:
    """The one form in which all these texts are days or moments: "" for ISO; raises if there is none, or several."""
    if all(is_iso(text) for text in texts):
        return ""
    readings = {form: tuple(to_iso(form, text) for text in texts) for form in FORMS}
    meanings = {reading: form for form, reading in readings.items() if all(reading)}
    if len(meanings) == 1:
        return next(iter(meanings.values()))
    if meanings:
        one, other, *_ = meanings
        place = next(i for i in range(len(texts)) if one[i] != other[i])
        raise DiffmgError(
            f"dates of {what} must be clear, but got {texts[place]!r}, which may be {one[place]} or "
            f"{other[place]}; {HOW}"
        )
    best = max(("", *FORMS), key=lambda form: sum(bool(to_iso(form, text)) for text in texts))
    raise no_date(next(text for text in texts if not to_iso(best, text)), what)


def no_date(text: str, what: str) -> DiffmgError:
    """The error for a text that is no date, or not in the form of the others."""
    return DiffmgError(f"dates of {what} must all be written in one known form, but got {text!r}; {HOW}")


def is_iso(text: str) -> bool:
    """Whether a text is an ISO date or moment, or the year or month of one."""
    if not re.fullmatch(f"{ISO}{ZONE}?", text):
        return False
    try:
        iso_moment(text)
    except (DiffmgError, ValueError):
        return False
    return True


@lru_cache(maxsize=MOST_KEPT)
def to_iso(form: str, text: str) -> str:
    """A text as an ISO date in UTC, or a moment if it has a time of day; empty if it is not of this form."""
    if not form:
        return (text if len(text) <= 10 else moment(text).isoformat(" ")) if is_iso(text) else ""
    for time in TIMES:
        try:
            found = datetime.strptime(text.strip(), form + time)
        except ValueError:
            continue
        return found.isoformat(" ") if time else date.isoformat(found)
    return ""


def is_before(written: str, limit: str) -> bool:
    """Whether an ISO date or moment ends before a limit of `iso_moment`: a bare date stands for the end of its day."""
    return written < limit[: len(written)]
