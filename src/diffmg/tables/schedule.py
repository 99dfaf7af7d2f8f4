"""The moments of a question: how often it is asked, and how moments are split so that no label reaches too far."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffmg.core import DiffmgError, Part
from diffmg.tables.times import DAY, Ints, period

HELD_SHARE = 6
"""One of so many moments is held for test, and as many for validation."""
MOST_MOMENTS = 10_000


def all_moments(begin: int, end: int, within: str, every: str) -> Ints:
    """Moments from `begin` on, back from the last one whose horizon ends with the data; whole days where both are."""
    horizon, step = period(within), period(every)
    last = end - horizon
    if horizon % DAY == step % DAY == 0:
        last = last // DAY * DAY
    if last < begin:
        raise DiffmgError(
            f"a moment must lie after the first row and its whole period inside the data, but got moments "
            f"from {day(begin)} on, data until {day(end)} and a period of {within}; use a shorter --within, an "
            "earlier --since or a later --until"
        )
    if (last - begin) // step >= MOST_MOMENTS:
        raise DiffmgError(
            f"at most {MOST_MOMENTS} moments are asked at, but got {(last - begin) // step + 1} "
            f"from {day(begin)} to {day(last)}; use a longer --every than {every}, or --since"
        )
    return np.arange(last, begin - 1, -step, dtype=np.int64)[::-1]


def split_moments(moments: Ints, within: int, held: int | None) -> Mapping[Part, Ints]:
    """The last moments are the test part, those before them validation, the others training.

    A moment whose horizon ends after the next part begins belongs to none.
    """
    count = held or max(1, len(moments) // HELD_SHARE)
    test = moments[-count:]
    val = moments[moments + within <= test[0]][-count:]
    train = moments[moments + within <= val[0]] if len(val) else val
    if not len(train):
        raise DiffmgError(
            f"moments must suffice for train, val and test, {count} each for the last two and a whole period between "
            f"parts, but got {len(moments)} from {day(moments[0])} to {day(moments[-1])}; "
            "use a shorter --within or --every, or a smaller --held"
        )
    return {"train": train, "val": val, "test": test}


def written(moments: Ints) -> list[str]:
    """As dates, or with the time of day if any is not the beginning of a day."""
    unit = "D" if (moments % DAY == 0).all() else "us" if (moments % 1_000_000).any() else "s"
    return [str(time) for time in moments.astype("datetime64[us]").astype(f"datetime64[{unit}]")]


def day(time: int) -> str:
    """The day of a time."""
    return str(np.datetime64(int(time), "us").astype("datetime64[D]"))
