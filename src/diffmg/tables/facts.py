"""Rows of a database that say something of an entity at a time: what questions are answered from."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError, unknown
from diffmg.core.arrow import decoded, numbers
from diffmg.tables.catalogue import DatabaseTable, ForeignKey
from diffmg.tables.columns._base import is_number
from diffmg.tables.database import columns_of
from diffmg.tables.keys import Keys, in_one_type
from diffmg.tables.question import OF_NUMBERS, Aggregate, Comparison, Condition, Junction
from diffmg.tables.rows import Tables, kind_of, read_rows, select_rows
from diffmg.tables.times import NEVER, Ints, row_times

if TYPE_CHECKING:
    from sqlalchemy import Connection

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
COMPARE: Mapping[str, Any] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ON_TEXT: Mapping[str, Any] = {
    "==": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """Reads entities, and rows that refer to them."""

    connection: Connection
    tables: Tables
    times: Mapping[str, str]
    """The time column of each dated table."""

    def columns(self, table: str, names: list[str]) -> pa.Table:
        """Some columns of a table, all of its rows."""
        found, names = self.tables[table], list(dict.fromkeys(names))
        kinds = [kind_of(found, name, self.tables) for name in names]
        return read_rows(self.connection, select_rows(self.connection, found, names, self.tables, {}), names, kinds)

    def entities(self, name: str) -> Entities:
        """The rows of a table that predictions are made of, by their key."""
        if name not in self.tables:
            raise unknown("table of --of:", name, self.tables)
        primary = self.tables[name].primary
        if len(primary) != 1:
            raise DiffmgError(
                f"predictions are of a table with a primary key of one column, but got {list(primary)} in {name!r}"
            )
        time = self.times.get(name)
        read = self.columns(name, [primary[0], *([time] if time else [])])
        read = read.filter(read.column(primary[0]).is_valid()).sort_by(primary[0])
        known = row_times(read.column(time), f"{name}.{time}") if time else None
        return Entities(name, Keys.read(read, primary, f"table {name!r}"), known)

    def facts(self, asked: Aggregate, entities: Entities) -> Facts:
        """The rows that an aggregate is of, in the order of time."""
        table = self.tables.get(asked.table)
        if table is None:
            raise unknown("table of the question:", asked.table, self.tables)
        for column in asked.columns:
            if column not in table.columns:
                raise unknown(f"column of table {asked.table!r}:", column, table.columns)
        key = columns_of(_key(asked, table, entities.table, self.tables), self.tables)
        time = self.times.get(asked.table)
        if time is None:
            raise DiffmgError(
                f"what is asked of must be dated, but got {asked.table!r} without a column of dates among "
                f"{', '.join(table.columns)}; name one with --time {asked.table}.COLUMN, or ask of a dated table"
            )
        read = self.columns(asked.table, [*key, time, *asked.columns])
        who = entities.numbers_of(Keys.read(read, key, f"table {asked.table!r}"), asked.table)
        return Facts(asked, read, who, row_times(read.column(time), f"{asked.table}.{time}")).in_order()


def _key(asked: Aggregate, table: DatabaseTable, entity: str, tables: Tables) -> ForeignKey:
    """The foreign key from a table to the entities."""
    able = [key for key in table.foreign if key.table == entity]
    named = [key for key in able if asked.key in (None, *key.columns)]
    if len(named) == 1:
        return named[0]
    keys = ", ".join(",".join(key.columns) for key in able)
    if not able:
        others = sorted(n for n, t in tables.items() if any(key.table == entity for key in t.foreign))
        raise DiffmgError(
            f"rows that are asked of refer to {entity!r} by a foreign key, but got {table.name!r} without one; "
            f"tables that do: {', '.join(others) or 'none'}"
        )
    if asked.key is not None:
        raise unknown(f"key from {table.name!r} to {entity!r}:", asked.key, (",".join(key.columns) for key in able))
    raise DiffmgError(
        f"rows that are asked of refer to {entity!r} by one key, but got several in {table.name!r}: {keys}; "
        f"name it: count({table.name} by {able[0].columns[0]})"
    )


@dataclass(frozen=True)
class Entities:
    """What predictions are made of."""

    table: str
    ids: Keys
    known: Ints | None
    """The time from which each is known; None if the table has none."""

    def __len__(self) -> int:
        return len(self.ids.values)

    def numbers_of(self, keys: Keys, table: str) -> Ints:
        """The number of the entity that each row refers to, -1 for none."""
        own, theirs = in_one_type(f"{self.table} in {table}", [self.ids, keys])
        return np.asarray(pc.index_in(theirs, value_set=own).fill_null(-1).to_numpy(), np.int64)


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
