"""What each row may hear from: earlier rows that share its key, within a window. In bulk, by sorting and searching.

A row without a key or a time is never heard. Among rows of the same time, those with a higher number come later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.tables.times import NEVER

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """How far back a relation reaches: so many rows, or so many microseconds, or both."""

    rows: int | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        given = {"rows": self.rows, "period": self.period}
        if all(value is None for value in given.values()) or any(v is not None and v < 1 for v in given.values()):
            raise DiffmgError(f"a window has `rows >= 1` or `period >= 1`, but got {given}")


@dataclass(frozen=True)
class Timed:
    """Rows of a table: the number of their key, -1 for none, and their time in microseconds, `NEVER` for none."""

    key: Ints
    time: Ints


@dataclass(frozen=True)
class History:
    """Rows that can be heard, by key and then by time."""

    heard: Timed

    @cached_property
    def order(self) -> Ints:
        """The numbers of rows with a key and a time."""
        known = np.flatnonzero((self.heard.key >= 0) & (self.heard.time != NEVER))
        return known[np.lexsort((self.heard.time[known], self.heard.key[known]))]

    @cached_property
    def starts_of_keys(self) -> NDArray[np.bool_]:
        """For each place of the order, whether a key begins there."""
        keys = self.heard.key[self.order]
        return np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]

    @cached_property
    def _times(self) -> Ints:
        return np.unique(self.heard.time[self.order])

    @cached_property
    def _places(self) -> Ints:
        """Key and rank of the time as one number; ascending."""
        ranks = np.searchsorted(self._times, self.heard.time[self.order])
        return self.heard.key[self.order] * self._ranks + ranks

    @property
    def _ranks(self) -> int:
        return len(self._times) + 1

    def ends(self, hearing: Timed, *, strict: bool = True) -> Ints:
        """For each row, how many places come before its moment (or at it, unless strict) in the order of its key."""
        return self._until(hearing.key, hearing.time, "left" if strict else "right")

    def starts(self, hearing: Timed) -> Ints:
        """For each row, the place where its key begins."""
        return np.searchsorted(self._places, hearing.key * self._ranks)

    def edges(self, hearing: Timed, window: Window, *, strict: bool = True) -> Ints:
        """Edges (2, n) from rows that are heard to rows that hear; strictly earlier ones, unless said otherwise."""
        ends = self.ends(hearing, strict=strict)
        starts = self.starts(hearing)
        if window.rows is not None:
            starts = np.maximum(starts, ends - window.rows)
        if window.period is not None:
            starts = np.maximum(starts, self._until(hearing.key, hearing.time - window.period, "left"))
        known = (hearing.key >= 0) & (hearing.time != NEVER)
        counts = np.where(known, np.maximum(ends - starts, 0), 0)
        first = np.repeat(starts - np.cumsum(counts) + counts, counts)
        return np.stack([self.order[first + np.arange(len(first))], np.repeat(np.arange(len(counts)), counts)])

    def _until(self, key: Ints, time: Ints, side: str) -> Ints:
        """The place of the first row of a key at a time (left), or after it (right)."""
        ranks = np.searchsorted(self._times, time, side=side)  # type: ignore[call-overload]
        return np.asarray(np.searchsorted(self._places, key * self._ranks + ranks), np.int64)
