"""Columns of any kind as Arrow columns."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError


def as_column(values: Any, what: str) -> pa.ChunkedArray:
    """One value a row, from a list, numpy, pandas, polars, torch or Arrow; None and NaN are missing."""
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if not isinstance(values, list | tuple | pa.Array):
            values = np.asarray(values)
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DiffmgError(f"{what} must hold one value a row, all of one type, but got: {error}") from error


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in few types: text as text, whole numbers as 64-bit numbers where they fit, NaN as missing."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return _whole(values)
    return values


def numbers(values: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    """A column of numbers, NaN where one is missing."""
    try:
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    except pa.ArrowException as error:
        raise DiffmgError(f"{what} must be numbers, but got {values.type}: {error}") from error


def decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values without dictionaries, all text of one type, UUIDs as text."""
    if isinstance(values.type, pa.BaseExtensionType):
        texts = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_dictionary(values.type):
        kind = _text_or(values.type.value_type)
        return pa.chunked_array([c.dictionary.cast(kind).take(c.indices) for c in values.chunks], kind)
    return values.cast(_text_or(values.type))


def _text_or(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _whole(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """As whole numbers, unless that would change them: a column of them with gaps is often stored as 1.0, 2.0, NaN."""
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return numbers
