"""Queries rows of a database, up to a time, and returns them as Arrow tables with the declared kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError, unknown
from diffmg.core.plan import is_select
from diffmg.tables.before import before
from diffmg.tables.catalogue import DatabaseTable, ForeignKey, Kind
from diffmg.tables.naming import free_alias, source_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

Tables = Mapping[str, DatabaseTable]
Times = Mapping[str, str]
"""Maps columns of a table to the time before which rows are read."""
CHUNK = 50_000
"""Rows held as Python values at a time."""
MOMENT = pa.timestamp("us")
MOMENTS = ((MOMENT,), (pa.timestamp("us", "UTC"), MOMENT))
CASTS: dict[Kind, tuple[tuple[pa.DataType, ...], ...]] = {
    "yes or no": ((pa.bool_(),),),
    "integer": ((pa.int64(),),),
    "number": ((pa.float64(),),),
    "date": ((pa.date32(),), *MOMENTS),
    "moment": MOMENTS,
    "text": ((pa.string(),),),
}
"""Chains of casts to the type of a kind; the first that works is used."""


def select_rows(
    connection: Connection, table: DatabaseTable, columns: Sequence[str], tables: Tables, times: Times
) -> Select[Any]:
    """Select columns of a table; `KEY.COLUMN` is a column of the row that the foreign key KEY refers to."""
    import sqlalchemy as sa

    source = source_of(table)
    picked = dict(source.c.items())
    for name in columns:
        if name not in table.columns:
            key, column = _referred(table, name, tables)
            other = source_of(tables[key.table]).alias(free_alias(tables))
            same = [other.c[r] == source.c[c] for c, r in zip(key.columns, key.refers, strict=True)]
            picked[name] = sa.select(other.c[column]).where(*same).scalar_subquery()
    chosen = [picked[name] for name in columns]
    return sa.select(*chosen).select_from(source).where(*before(connection, table, source, times))


def has_rows(connection: Connection, table: DatabaseTable, keys: Sequence[str], times: Times) -> bool:
    """Whether any row before the times has no NULL in `keys`."""
    import sqlalchemy as sa

    source = source_of(table)
    conditions = [*(source.c[k].is_not(None) for k in keys), *before(connection, table, source, times)]
    one: Select[Any] = sa.select(sa.literal_column("1")).select_from(source).where(*conditions).limit(1)
    return connection.execute(one).first() is not None


def counts_of(connection: Connection, table: DatabaseTable, name: str) -> tuple[int, int, int]:
    """How many rows a table has, how many of them with a value in a column, and how many different values."""
    import sqlalchemy as sa

    source = source_of(table)
    counts = sa.select(
        sa.func.count(), sa.func.count(source.c[name]), sa.func.count(source.c[name].distinct())
    ).select_from(source)
    rows, known, different = connection.execute(counts).one()
    return int(rows), int(known), int(different)


def kind_of(table: DatabaseTable, name: str, tables: Tables) -> Kind:
    """The kind of a column or `KEY.COLUMN`; an unknown name raises an error that suggests the nearest."""
    if name in table.columns:
        return table.columns[name]
    key, column = _referred(table, name, tables)
    return tables[key.table].columns[column]


def split_name(name: str, tables: Tables) -> tuple[str, str] | None:
    """Table and column of `TABLE.COLUMN`, both of which may contain dots; None if there is no such table."""
    places = [i for i, letter in enumerate(name) if letter == "."]
    return next(((name[:i], name[i + 1 :]) for i in places if name[:i] in tables), None)


def times_of(as_of: Times, tables: Tables) -> dict[str, dict[str, str]]:
    """Columns with a time, by table; a bare `COLUMN` applies to every table that has it."""
    times: dict[str, dict[str, str]] = {}
    for name, time in as_of.items():
        place = split_name(name, tables)
        found = [place] if place and place[1] in tables[place[0]].columns else []
        found = found or [(t.name, name) for t in tables.values() if name in t.columns]
        if not found:
            of = tables[place[0]].columns if place else {c for t in tables.values() for c in t.columns}
            raise unknown("column of `as_of`:", place[1] if place else name, of)
        for table, column in found:
            times.setdefault(table, {})[column] = time
    return times


def _referred(table: DatabaseTable, name: str, tables: Tables) -> tuple[ForeignKey, str]:
    """The foreign key and the column of the other table that `KEY.COLUMN` names."""
    for key in table.foreign:
        start = ",".join(key.columns) + "."
        column = name.removeprefix(start)
        if name.startswith(start) and column in tables[key.table].columns:
            return key, column
    raise unknown(f"column of table {table.name!r}:", name, table.columns)


def read_rows(connection: Connection, statement: Select[Any], names: Sequence[str], kinds: Sequence[Kind]) -> pa.Table:
    """The result of a statement, with these column names and kinds."""
    native = connection.dialect.name == "duckdb"
    arrays = _native(connection, statement) if native else _chunked(connection, statement, kinds)
    return pa.table([canonical(a, kind) for a, kind in zip(arrays, kinds, strict=True)], names=list(names))


def read_any(connection: Connection, statement: Select[Any], names: Sequence[str]) -> pa.Table:
    """The result of a statement, with these column names and the types of its values."""
    return read_rows(connection, statement, names, ["any"] * len(names))


def read_query(connection: Connection, query: str) -> pa.Table:
    """The result of a SELECT that the user wrote; nothing else is run."""
    import sqlalchemy as sa

    if not is_select(query) or ";" in query.strip().rstrip(";"):
        raise DiffmgError(f"a query must be one SELECT, but got {query!r}")
    try:
        return _answer(connection, query.strip().rstrip(";"))
    except (sa.exc.SQLAlchemyError, connection.dialect.loaded_dbapi.Error) as error:
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        raise DiffmgError(f"a query must be a SELECT that the database answers, but got {query!r}: {said}") from error


def _answer(connection: Connection, query: str) -> pa.Table:
    import sqlalchemy as sa

    if connection.dialect.name == "duckdb":
        found = connection.connection.driver_connection.sql(query).to_arrow_table()  # type: ignore[union-attr]
        return pa.table([canonical(c, "any") for c in found.columns], names=found.column_names)
    result = connection.execute(sa.text(query.replace(":", r"\:")))
    names, rows = list(result.keys()), result.fetchall()
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return pa.table([canonical(_joined([_array(list(c), "any")]), "any") for c in columns], names=names)


def canonical(values: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray:
    """Cast values to the type of their kind; values that do not fit it are left unchanged."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(MOMENT)
    if pa.types.is_decimal(values.type):
        kind = ("number" if values.type.scale else "integer") if kind == "any" else kind
        values = values.cast(pa.string())  # parsed to the nearest float, as drivers do
    if pa.types.is_binary(values.type):
        return pa.chunked_array([_texts(chunk.to_pylist()) for chunk in values.chunks], pa.string())
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        if kind in ("date", "moment"):
            return values
        if kind == "yes or no" and not set(pc.unique(values.drop_null()).to_pylist()) <= {0, 1}:
            return values
    for steps in CASTS.get(kind, ()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return reduce(lambda given, step: given.cast(step), steps, values)
    return values


def _native(connection: Connection, statement: Select[Any]) -> list[pa.ChunkedArray]:
    """DuckDB returns Arrow natively."""
    compiled = statement.compile(dialect=connection.dialect)
    given = [compiled.params[name] for name in getattr(compiled, "positiontup", None) or ()]
    relation = connection.connection.driver_connection.sql(str(compiled), params=given)  # type: ignore[union-attr]
    return list(relation.to_arrow_table().columns)


def _chunked(connection: Connection, statement: Select[Any], kinds: Sequence[Kind]) -> list[pa.ChunkedArray]:
    """Fetch rows in chunks and transpose them to columns."""
    result = connection.execute(statement, execution_options={"stream_results": True, "yield_per": CHUNK})
    chunks: list[list[pa.Array]] = [[] for _ in kinds]
    for rows in result.partitions():
        for kind, values, found in zip(kinds, zip(*rows, strict=True), chunks, strict=True):
            found.append(_array(values, kind))
    return [_joined(found) for found in chunks]


def _array(values: Sequence[Any], kind: Kind) -> pa.Array:
    first = next((v for v in values if v is not None), None)
    if isinstance(first, Decimal):
        number = int if kind == "integer" else float
        values = [None if v is None else number(v) for v in values]
    try:
        return _texts(values) if isinstance(first, UUID | bytes) else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return _without_blanks(values)


def _without_blanks(values: Sequence[Any]) -> pa.Array:
    """Values of several types: numbers, where the only texts are blank ones (missing), else texts."""
    numbers = [None if isinstance(v, str) and not v.strip() else v for v in values]
    if all(v is None or isinstance(v, int | float) for v in numbers):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.array(numbers)
    return _texts(values)


def _texts(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in values], pa.string())


def _joined(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Concatenate chunks in a common type: SQLite allows any value in any column."""
    types = {chunk.type for chunk in chunks} - {pa.null()}
    mixed = pa.float64() if all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types) else pa.string()
    common = mixed if len(types) > 1 else next(iter(types), pa.null())
    return pa.chunked_array([chunk.cast(common) for chunk in chunks], common)
