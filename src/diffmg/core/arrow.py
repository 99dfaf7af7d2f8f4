"""Conversion of columns from any library to Arrow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError


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
