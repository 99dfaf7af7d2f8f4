"""Cells that hold several values: texts with a separator, JSON lists, lists of Arrow."""

import ast
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError
from diffmg.core.arrow import decoded

JSON = "json"
"""Instead of a separator: cells are JSON lists."""
Cells = list[list[str]]


def is_list(kind: pa.DataType) -> bool:
    """Whether a column holds lists of texts or whole numbers."""
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(listed and (_is_text(kind.value_type) or pa.types.is_integer(kind.value_type)))


def cells_of(values: pa.ChunkedArray, separator: str, what: str) -> Cells:
    """The values of each cell as texts without blanks around them, empty ones left out; none in a missing cell.

    Columns of lists need no separator.
    """
    values = decoded(values)
    if pa.types.is_null(values.type):
        return [[] for _ in range(len(values))]
    if is_list(values.type):
        return [_texts(cell or ()) for cell in values.to_pylist()]
    if not (pa.types.is_string(values.type) or pa.types.is_integer(values.type)):
        raise DiffmgError(f"cells of {what} must be texts or lists to be split, but got {values.type}")
    texts = values.cast(pa.string()).to_pylist()
    if separator == JSON:
        return [[] if text is None else _texts(json_list(text, what)) for text in texts]
    return [[] if text is None else _texts(text.split(separator)) for text in texts]


def json_list(text: str, what: str) -> Sequence[Any]:
    """The values of a list of texts and numbers, as JSON or as Python writes it."""
    found = None
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            found = parse(text.strip())
            break
    if not isinstance(found, list) or any(isinstance(value, list | dict) for value in found):
        raise DiffmgError(f"cells of {what} must be JSON lists of texts or numbers, but got {text[:60]!r}")
    return found


def one_row_each(values: pa.ChunkedArray, separator: str, what: str) -> tuple[pa.ChunkedArray, Any]:
    """One value a row, and the row of each; a cell without values is one missing value.

    Texts that are all whole numbers become numbers, as in files.
    """
    cells = cells_of(values, separator, what)
    rows = np.repeat(np.arange(len(cells)), [max(1, len(cell)) for cell in cells])
    empty: list[str | None] = [None]
    texts = pa.array([value for cell in cells for value in (cell or empty)], pa.string())
    whole = pc.all(pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")).as_py()
    return pa.chunked_array([texts.cast(pa.int64()) if whole else texts]), rows


def _texts(values: Sequence[Any]) -> list[str]:
    stripped = (str(value).strip() for value in values if value is not None)
    return [text for text in stripped if text]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))
