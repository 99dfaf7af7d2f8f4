"""Rows of a database that say something of an entity at a time: what questions are answered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError, unknown
from diffmg.core.arrow import sorted_by
from diffmg.tables.catalogue import DatabaseTable, ForeignKey
from diffmg.tables.counting import Facts
from diffmg.tables.database import columns_of
from diffmg.tables.keys import Keys, in_one_type
from diffmg.tables.question import Aggregate
from diffmg.tables.roles import no_single_key
from diffmg.tables.rows import Tables, kind_of, read_rows, select_rows
from diffmg.tables.times import Ints, row_times

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
        if len(self.tables[name].primary) != 1:
            raise no_single_key(self.tables[name])
        (key,) = self.tables[name].primary
        time = self.times.get(name)
        read = self.columns(name, [key, *([time] if time else [])])
        read = read.filter(read.column(key).is_valid())
        read = sorted_by(read, [key])
        known = row_times(read.column(time), f"{name}.{time}") if time else None
        return Entities(name, Keys.read(read, [key], f"table {name!r}"), known)

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
