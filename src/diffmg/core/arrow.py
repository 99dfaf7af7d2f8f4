"""Conversion of columns from any library to Arrow."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError

UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name: numbers of rows, not a column of anybody's."""


def as_column(values: Any, what: str) -> pa.ChunkedArray:
    """Convert a list, numpy, pandas, polars, torch or Arrow column, one value per row; None and NaN are missing."""
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if not isinstance(values, list | tuple | pa.Array):
            values = np.asarray(values)
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DiffmgError(f"{what} must hold one value a row, all of one type, but got: {error}") from error


def as_frame(given: Any, what: str) -> pa.Table:
    """A table from an object with the Arrow stream protocol (pandas, polars, Arrow) or a mapping of columns."""
    if isinstance(given, pa.Table):
        return checked_table(given, what)
    if isinstance(given, Mapping):
        given = {str(name): as_column(values, f"column {name!r} of {what}") for name, values in given.items()}
    elif not hasattr(given, "__arrow_c_stream__"):
        raise DiffmgError(f"the table of {what} must speak Arrow or map names to columns, but got {type(given)}")
    try:
        table = pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DiffmgError(f"the table of {what} must have plain columns of one length, but got: {error}") from error
    return checked_table(table, what)


def checked_table(table: pa.Table, what: str) -> pa.Table:
    """The table without an unnamed index of pandas, its columns of types that can be taken from; no name is double."""
    table = table.drop_columns([name for name in table.column_names if UNNAMED_INDEX.fullmatch(name)])
    double = sorted(name for name, count in Counter(table.column_names).items() if count > 1)
    if double:
        raise DiffmgError(f"every column of {what} must have a name of its own, but got {double} more than once")
    for i, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):  # views do not support `take`
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
        elif "view" in str(field.type) and not pa.types.is_dictionary(field.type):  # nor do lists or structs of them
            table = table.set_column(i, field.name, pa.chunked_array([pa.array(table.column(i).to_pylist())]))
    return table


def sorted_by(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows in the order of some columns, whose names may be anything: Arrow takes `.id` for a path."""
    keys = pa.table([table.column(name) for name in names], names=[f"key {i}" for i in range(len(names))])
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return table.take(order)


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalize the column type: one string type, integers as int64 where they fit, NaN as missing."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return _as_integers(values)
    return values


def numbers(values: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    """Convert a column to float64, with NaN for missing values."""
    try:
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException as error:
        raise DiffmgError(f"{what} must be numbers, but got {values.type}: {error}") from error


def decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode dictionaries, use one string type, and write UUIDs as text."""
    if isinstance(values.type, pa.BaseExtensionType):
        texts = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_dictionary(values.type):
        kind = _plain_type(values.type.value_type)
        return pa.chunked_array([c.dictionary.cast(kind).take(c.indices) for c in values.chunks], kind)
    return values.cast(_plain_type(values.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _as_integers(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast to int64 if no value changes: integers with missing values are often stored as floats (1.0, 2.0, NaN)."""
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return numbers
