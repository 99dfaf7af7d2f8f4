"""What a time cuts off, in each table: rows after it, and dates that it does not speak of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError
from diffmg.tables.before import before, number_of, sqlite_before
from diffmg.tables.catalogue import DatabaseTable, Kind
from diffmg.tables.columns._base import is_number
from diffmg.tables.dates import form_of, is_before, is_iso, iso_moment, moment, to_iso
from diffmg.tables.naming import source_of
from diffmg.tables.reading import with_notes
from diffmg.tables.rows import Tables, Times, times_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

SAMPLE = 20
"""Texts of a column that decide whether it holds dates."""


def as_of_notes(
    connection: Connection, table: DatabaseTable, times: Times, latest: str, unused: Collection[str] = ()
) -> list[str]:
    """How many rows of a table the times leave out, and which of its dates they do not speak of.

    `unused` columns, such as the label and what is held back, are not read, so they may have any date.
    """
    import sqlalchemy as sa

    source = source_of(table)
    kept = before(connection, table, source, times)

    def count(*where: Any) -> int:
        return int(connection.execute(sa.select(sa.func.count()).select_from(source).where(*where)).scalar_one())

    notes = [cut_note(table.name, count(), count(*kept), times)] if times else []
    others = [name for name in table.columns if name not in {*times, *unused}]
    dated = [name for name in others if _is_dated(connection, table, source, name)]
    for name in dated:
        later = sa.not_(_plainly_before(connection, table, source, name, latest))
        notes += later_note(f"{table.name}.{name}", count(*kept, later), count(*kept), latest)
    return notes or ([f"{table.name}: dated before {latest}"] if dated else [f"{table.name}: no dates, read whole"])


def latest_of(times: Mapping[str, Times]) -> str:
    """The latest of the times that are dates; empty if none is."""
    given = {time for own in times.values() for time in own.values() if is_iso(time)}
    return max(given, key=iso_moment, default="")


def cut_note(table: str, rows: int, kept: int, times: Times) -> str:
    """How many rows are left out."""
    where = " and ".join(f"{name} before {time}" for name, time in times.items())
    return f"{table}: {rows - kept} of {rows} rows left out, since only those with {where} are read"


def later_note(column: str, later: int, rows: int, latest: str) -> list[str]:
    """A warning on rows that are read although another of their dates is not before the time."""
    if not later:
        return []
    return [
        f"leak: {column} is not before {latest} in {later} of {rows} rows that are read, since --as-of does not name "
        f"it; add --as-of {column}={latest}, or leave the column out if it was filled in later"
    ]


def _is_dated(connection: Connection, table: DatabaseTable, source: Any, name: str) -> bool:
    """Whether a column holds dates: by its kind, or texts that are all ISO days or moments."""
    import sqlalchemy as sa

    kind = table.columns[name]
    if kind in ("date", "moment"):
        return True
    if kind not in ("text", "any") or name in table.keys:
        return False
    column = source.c[name]
    found = connection.execute(sa.select(column).where(column.is_not(None)).limit(SAMPLE)).scalars().all()
    return bool(found) and all(isinstance(v, str) and len(v) >= len("2024-01-31") and is_iso(v) for v in found)


def _plainly_before(connection: Connection, table: DatabaseTable, source: Any, name: str, time: str) -> Any:
    """The condition without checks of the texts; rows without a date count as earlier."""
    import sqlalchemy as sa

    column = source.c[name]
    found: Any
    if connection.dialect.name == "sqlite":
        text = sa.func.typeof(column) == "text"
        found = sa.case((text, sqlite_before(column, time)), else_=sqlite_before(column, time, "unixepoch"))
    elif table.columns[name] in ("date", "moment"):
        (found,) = before(connection, table, source, {name: time})
    else:
        found = sa.func.replace(column, "T", " ") < sa.func.substr(iso_moment(time), 1, sa.func.length(column))
    return sa.func.coalesce(found, sa.true())


def cut_tables(tables: Mapping[str, pa.Table], as_of: Times) -> dict[str, pa.Table]:
    """Tables read from files, without the rows that are not before the times; with notes on what was left out."""
    if not as_of:
        return dict(tables)
    stubs: Tables = {name: DatabaseTable(name, _kinds(table)) for name, table in tables.items()}
    times = times_of(as_of, stubs)
    return {name: _cut(name, table, times.get(name, {}), latest_of(times)) for name, table in tables.items()}


def _cut(name: str, table: pa.Table, times: Times, latest: str) -> pa.Table:
    kept = np.ones(table.num_rows, bool)
    for column, time in times.items():
        kept &= rows_before(table.column(column), time, f"{name}.{column}")
    left = table.filter(pa.array(kept))
    notes = [cut_note(name, table.num_rows, left.num_rows, times)] if times else []
    for column in _dated(left) if latest else ():
        if column not in times:
            values = left.column(column)
            early = rows_before(values, latest, f"{name}.{column}") | np.asarray(values.is_null().to_numpy(), bool)
            notes += later_note(f"{name}.{column}", int((~early).sum()), left.num_rows, latest)
    return with_notes(left, notes or [f"{name}: no dates, read whole"])


def rows_before(values: pa.ChunkedArray, time: str, what: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are before a time; those without a date are not. A bare date stands for the end of its day."""
    if is_number(values.type):
        return _mask(pc.less(values.cast(pa.float64(), safe=False), number_of(time, what)))
    if pa.types.is_date(values.type):
        return _mask(pc.less(values.cast(pa.date32()), pa.scalar(moment(time).date())))
    if pa.types.is_timestamp(values.type):
        return _mask(pc.less(values.cast(pa.timestamp("us"), safe=False), pa.scalar(moment(time), pa.timestamp("us"))))
    if not pa.types.is_string(values.type):
        raise DiffmgError(f"`as_of` is for columns of times, but got {what!r}, a column of {values.type}")
    texts, limit = sorted(pc.unique(values.drop_null()).to_pylist()), iso_moment(time)
    form = form_of(texts, what)
    early = [text for text in texts if is_before(to_iso(form, text), limit)]
    return _mask(pc.is_in(values, value_set=pa.array(early, pa.string())))


def _mask(found: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(found.fill_null(False).to_numpy(), bool)


def _dated(table: pa.Table) -> Iterator[str]:
    for field in table.schema:
        if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            yield field.name


def _kinds(table: pa.Table) -> dict[str, Kind]:
    return dict.fromkeys(table.column_names, "any")
