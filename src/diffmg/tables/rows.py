"""Rows of a database, in bulk as Arrow, each column as the kind it was declared."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.tables.catalogue import Kind

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

CHUNK = 50_000
"""Rows that are held as Python values at a time."""
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
"""Ways to the type of a kind, the first that works."""


def read_rows(connection: Connection, statement: Select[Any], names: Sequence[str], kinds: Sequence[Kind]) -> pa.Table:
    """What a statement selects, its columns by name and kind."""
    native = connection.dialect.name == "duckdb"
    arrays = _native(connection, statement) if native else _chunked(connection, statement, kinds)
    return pa.table([canonical(a, kind) for a, kind in zip(arrays, kinds, strict=True)], names=list(names))


def canonical(values: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray:
    """Values as the type of their kind; those that are of another kind in truth stay what they are."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(MOMENT)
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())  # from where the nearest float is found, as drivers do
    if pa.types.is_binary(values.type):
        return pa.chunked_array([_texts(chunk.to_pylist()) for chunk in values.chunks], pa.string())
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        if kind in ("date", "moment"):
            return values
        if kind == "yes or no" and not set(pc.unique(values.drop_null()).to_pylist()) <= {0, 1}:
            return values
    for steps in CASTS.get(kind, ()):
        converted = _cast(values, steps)
        if converted is not None:
            return converted
    return values


def _cast(values: pa.ChunkedArray, steps: Sequence[pa.DataType]) -> pa.ChunkedArray | None:
    try:
        for step in steps:
            values = values.cast(step)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return values


def _native(connection: Connection, statement: Select[Any]) -> list[pa.ChunkedArray]:
    """DuckDB speaks Arrow."""
    compiled = statement.compile(dialect=connection.dialect)
    given = [compiled.params[name] for name in getattr(compiled, "positiontup", None) or ()]
    relation = connection.connection.driver_connection.sql(str(compiled), params=given)  # type: ignore[union-attr]
    return list(relation.to_arrow_table().columns)


def _chunked(connection: Connection, statement: Select[Any], kinds: Sequence[Kind]) -> list[pa.ChunkedArray]:
    """Rows in chunks, turned to columns."""
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
        return _texts(values)


def _texts(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in values], pa.string())


def _joined(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Chunks of one type: SQLite may hold any value in any column."""
    types = {chunk.type for chunk in chunks} - {pa.null()}
    if not types:
        return pa.chunked_array(chunks, pa.null())
    numbers = all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types)
    common = types.pop() if len(types) == 1 else pa.float64() if numbers else pa.string()
    return pa.chunked_array([chunk.cast(common) for chunk in chunks], common)
