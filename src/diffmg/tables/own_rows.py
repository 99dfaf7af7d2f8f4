"""Recognises a table of the database from which the predictions were taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core.arrow import decoded, plain
from diffmg.tables.catalogue import DatabaseTable
from diffmg.tables.columns._base import is_number
from diffmg.tables.roles import Roles
from diffmg.tables.rows import read_rows, select_rows
from diffmg.tables.times import is_time, moments

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHARE = 0.5
"""Share of the predictions that a table must hold."""


def holds_predictions(connection: Connection, table: DatabaseTable, predictions: pa.Table, roles: Roles) -> bool:
    """Whether a table has most of the predictions as rows: the same entity, moment and label."""
    names = [roles.entity, roles.time, roles.label]
    if not {*names} <= {*table.columns}:
        return False
    statement = select_rows(connection, table, names, {table.name: table}, {})
    own = read_rows(connection, statement, names, [table.columns[name] for name in names]).drop_null()
    if not own.num_rows or not is_time(own.column(roles.time), roles.time):
        return False
    given = predictions.select(names).drop_null()
    found = pc.is_in(_texts(given, names), value_set=_texts(own, names))
    return bool(pc.sum(found).as_py() >= SHARE * max(1, given.num_rows))


def _texts(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Entity, moment and label as one text a row."""
    entity, time, label = (decoded(table.column(name)) for name in names)
    made = pa.array(moments(time, names[1])).cast(pa.string())
    number = is_number(label.type) or pa.types.is_boolean(label.type)
    value = (label.cast(pa.float64(), safe=False) if number else label).cast(pa.string())
    parts = [c.combine_chunks() for c in (plain(entity).cast(pa.string()), value)]
    return pc.binary_join_element_wise(parts[0], made, parts[1], "|")
