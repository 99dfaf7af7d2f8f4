"""Counts and adds up dated rows of entities, between two times."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.core.arrow import decoded, numbers
from diffmg.tables.columns._base import is_number
from diffmg.tables.question import OF_NUMBERS, Aggregate, Comparison, Condition, Junction
from diffmg.tables.times import NEVER, Ints

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
COMPARE: Mapping[str, Any] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ON_TEXT: Mapping[str, Any] = {
    "==": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """Dated rows that refer to entities."""

    asked: Aggregate
    rows: pa.Table
    who: Ints
    """The number of the entity of each row."""
    time: Ints

    def in_order(self) -> Facts:
        """Rows with a known entity and a time, by time."""
        known = np.flatnonzero((self.who >= 0) & (self.time != NEVER))
        order = known[np.argsort(self.time[known], kind="stable")]
        return Facts(self.asked, self.rows.take(pa.array(order)), self.who[order], self.time[order])

    def counted(self) -> Counted:
        """The rows that fulfil the condition and have a value."""
        where, column = self.asked.where, self.asked.column
        kept = np.ones(len(self.who), bool) if where is None else holds(where, self.rows, self.asked.table)
        value = np.zeros(len(self.who))
        if column is not None:
            values = decoded(self.rows.column(column))
            kept &= np.asarray(values.is_valid().to_numpy(zero_copy_only=False), bool)
            if self.asked.function in OF_NUMBERS:
                value = _numbers(values, f"{self.asked.table}.{column}", self.asked.function)
                kept &= ~np.isnan(value)
            else:
                codes = values.combine_chunks().dictionary_encode().indices.fill_null(0)
                value = np.asarray(codes.to_numpy(zero_copy_only=False), np.float64)
        return Counted(self.asked.function, self.who[kept], self.time[kept], value[kept])


@dataclass(frozen=True)
class Counted:
    """Rows in the order of time, each with the number of its entity and a value."""

    function: str
    who: Ints
    time: Ints
    value: Floats

    def within(self, after: int, until: int, count: int) -> Floats:
        """The aggregate for each of `count` entities over rows in (after, until]; NaN for a mean or extreme of none."""
        rows = slice(*np.searchsorted(self.time, [after, until], side="right"))
        who, value = self.who[rows], self.value[rows]
        if self.function == "distinct":
            codes = value.astype(np.int64)
            width = int(codes.max(initial=0)) + 1
            who = np.unique(who * width + codes) // width
        rows_each = np.bincount(who, minlength=count).astype(np.float64)
        if self.function in ("count", "distinct"):
            return rows_each
        if self.function == "exists":
            return np.asarray(rows_each > 0, np.float64)
        if self.function in ("sum", "mean"):
            sums = np.bincount(who, value, minlength=count).astype(np.float64)
            return sums if self.function == "sum" else _ratio(sums, rows_each)
        found = np.full(count, np.inf if self.function == "min" else -np.inf)
        (np.minimum if self.function == "min" else np.maximum).at(found, who, value)
        return np.where(rows_each > 0, found, np.nan)


def _ratio(over: Floats, under: Floats) -> Floats:
    return np.asarray(np.divide(over, under, out=np.full(len(over), np.nan), where=under != 0), np.float64)


def combined(sign: str, left: Floats, right: Floats) -> Floats:
    """Two columns by a sign; NaN where either is, or where something is divided by 0."""
    if sign in COMPARE:
        return np.where(np.isnan(left) | np.isnan(right), np.nan, COMPARE[sign](left, right).astype(np.float64))
    if sign == "/":
        return _ratio(left, right)
    return np.asarray({"+": np.add, "-": np.subtract, "*": np.multiply}[sign](left, right), np.float64)


def holds(condition: Condition, rows: pa.Table, table: str) -> Mask:
    """Which rows fulfil a condition; a comparison with a missing value does not hold."""
    if isinstance(condition, Junction):
        parts = [holds(part, rows, table) for part in condition.parts]
        return np.asarray((np.logical_and if condition.word == "and" else np.logical_or).reduce(parts))
    return _tested(condition, decoded(rows.column(condition.column)), f"{table}.{condition.column}")


def _tested(test: Comparison, values: pa.ChunkedArray, what: str) -> Mask:
    if pa.types.is_null(values.type):
        return np.zeros(len(values), bool)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())
    wanted = "a number" if is_number(values.type) else "a 'text'" if pa.types.is_string(values.type) else None
    if wanted is None:
        raise DiffmgError(f"`where` compares numbers and texts, but got {what!r}, a column of {values.type}")
    if is_number(values.type) != isinstance(test.value, float):
        raise DiffmgError(
            f"`where` compares {what!r}, a column of {values.type}, with {wanted}, but got {test.value!r}"
        )
    if isinstance(test.value, float):
        given = numbers(values, what)
        return np.asarray(COMPARE[test.sign](given, test.value) & ~np.isnan(given))
    return np.asarray(ON_TEXT[test.sign](values, test.value).fill_null(False).to_numpy(zero_copy_only=False), bool)


def _numbers(values: pa.ChunkedArray, what: str, function: str) -> Floats:
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not is_number(values.type):
        raise DiffmgError(f"{function} is of numbers, but got {what!r}, a column of {values.type}")
    return numbers(values, what)
