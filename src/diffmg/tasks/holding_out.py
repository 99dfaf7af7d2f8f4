"""Which interactions are held out: at random for each user, the last ones, or those after two dates."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.core.arrow import numbers, plain
from diffmg.tasks.labels import Shares

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOMENT = pa.timestamp("us")
TRAIN, VAL, TEST = 0, 1, 2


def at_random(users: Ints, shares: Shares, seed: int) -> Ints:
    """The part of each interaction: every user's own are divided by `shares`, in a random order.

    Where a share of a user's interactions is no whole number, chance decides about the rest, so that the parts have
    their shares on the whole. A user's first one is always in training.
    """
    if len(shares) != 3 or min(shares[:2]) <= 0 or shares[2] < 0 or abs(sum(shares) - 1) > 1e-9:
        raise DiffmgError(f"shares must be train > 0, val > 0 and test >= 0 with a sum of 1, but got {shares}")
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(users)), users))
    count = np.bincount(users) if len(users) else np.zeros(0, np.int64)
    place = np.arange(len(users)) - np.repeat(np.cumsum(count) - count, count)
    offset = (rng.permutation(len(count)) + rng.random()) / max(1, len(count))  # evenly spread over the users
    owner = users[order]
    reached = (place + offset[owner]) / count[owner]
    part = np.empty(len(users), np.int64)
    part[order] = np.where(place == 0, TRAIN, np.searchsorted(np.cumsum(shares)[:2], reached, side="right"))
    return part


def back_to_training(part: Ints, items: Ints) -> Ints:
    """The parts, but what is held out of items that training would not know at all stays in training."""
    known = np.zeros(items.max(initial=-1) + 1, bool)
    known[items[part == TRAIN]] = True
    return np.where(known[items], part, TRAIN)


def the_last(users: Ints, when: Floats, liked: NDArray[np.bool_]) -> Ints:
    """The last liked interaction of each user with three or more is the test part, the one before it validation.

    What was disliked since then is in the same part. Of several at one time, the one that comes last in order.
    """
    part, rows = np.zeros(len(users), np.int64), np.flatnonzero(liked)
    count = np.bincount(users, minlength=1)
    cuts = np.full((2, len(count)), np.inf)
    order = rows[np.lexsort((rows, when[rows], users[rows]))]
    own = np.bincount(users[rows], minlength=len(count))
    last = np.cumsum(own) - 1
    several = np.flatnonzero(own >= 3)
    for name, back in ((TEST, 0), (VAL, 1)):
        held = order[last[several] - back]
        part[held] = name
        cuts[name - 1, several] = when[held]
    low = ~liked
    part[low] = (when[low] >= cuts[0][users[low]]).astype(np.int64) + (when[low] >= cuts[1][users[low]])
    return part


def after(when: Floats, dates: tuple[float, float]) -> Ints:
    """Validation from the first date on, the test part from the second on."""
    if not dates[0] < dates[1]:
        raise DiffmgError(f"the first of two `dates` must be before the second, but got {dates}")
    return np.searchsorted(np.asarray(dates), when, side="right").astype(np.int64)


def moments(values: pa.ChunkedArray, what: str) -> Floats:
    """Times as numbers that have their order, NaN where there is none; dates are microseconds."""
    values = plain(values)
    if pa.types.is_temporal(values.type) or pa.types.is_string(values.type):
        try:
            stamps = values.cast(MOMENT)
        except pa.ArrowException as error:
            raise DiffmgError(f"{what} must be dates, times or numbers, but got {values.type}: {error}") from error
        return numbers(stamps.cast(pa.int64()), what)
    return numbers(values, what)


def moment_of(date: str, values: pa.ChunkedArray, what: str) -> float:
    """A date as a number to compare with the column's."""
    try:
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            return float(date)
        moment = datetime.fromisoformat(date)
    except ValueError as error:
        raise DiffmgError(
            f"`dates` must be written as the times in {what}, a number or 2024-01-31T12:30, but got {date!r}"
        ) from error
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.timestamp() * 1e6
