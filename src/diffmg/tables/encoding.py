"""Features of a node type: its columns with their fitted encoders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from diffmg.core import DiffmgError
from diffmg.tables.columns import ColumnEncoder, fit_column
from diffmg.tables.columns._base import Block, as_text, finite, is_number
from diffmg.tables.reading import column

Encode = Literal["by_type", "dense", "sparse"]
CODE = re.compile(
    r"(?i:(^|_)(id|code|type|kind|status|category|class|group))$|(?<=[a-z])(Id|ID|Code|Type|Kind|Status)$"
)
"""Names of columns whose whole numbers stand for kinds."""
MOST_CODES = 200


@dataclass(frozen=True)
class FittedColumn:
    """A column of a table with its fitted encoder."""

    name: str
    encoder: ColumnEncoder
    missing: bool
    """Whether to add a missing-value indicator: if some but not all values were missing when fitted."""

    def transform(self, table: pa.Table, what: str) -> list[Block]:
        """The features of the column, and its missing-value indicator."""
        values = finite(table.column(self.name))
        try:
            block = self.encoder.transform(values)
        except (pa.ArrowException, DiffmgError) as error:
            raise DiffmgError(
                f"column {self.name!r} of {what} must be what it was when its features were fitted "
                f"({self.encoder.note}), but got {values.type}: {error}"
            ) from error
        if block is None or not self.missing:
            return [] if block is None else [block]
        return [block, np.asarray(values.is_null().to_numpy(), np.float32)[:, None]]

    @property
    def width(self) -> int:
        """How many features it becomes."""
        block = self.encoder.transform(pa.chunked_array([pa.nulls(1)]))
        return 0 if block is None else block.shape[1] + self.missing


@dataclass(frozen=True)
class FeatureEncoder:
    """How the columns of a node type become features; fitted once and saved with a model."""

    encode: Encode = "by_type"
    columns: tuple[FittedColumn, ...] = ()
    names: tuple[str, ...] = ()
    """Columns whose numbers are used unchanged, if not encoded by type."""

    @classmethod
    def fit(cls, table: pa.Table, names: Sequence[str], encode: Encode) -> Self:
        """Fit each column by its type, or use all numbers unchanged."""
        if encode != "by_type":
            return cls(encode, names=tuple(names))
        columns = {name: finite(table.column(name)) for name in names}
        columns = {name: as_text(v) if is_code(name, v) else v for name, v in columns.items()}
        fitted = (FittedColumn(n, fit_column(v), 0 < v.null_count < len(v)) for n, v in columns.items())
        return cls(encode, tuple(fitted))

    def transform(self, table: pa.Table, what: str) -> Block | None:
        """Features, one row per row of the table; None if there are none."""
        for name in self.names or [fitted.name for fitted in self.columns]:
            column(table, name, what)
        if self.encode == "by_type":
            return _joined([block for fitted in self.columns for block in fitted.transform(table, what)])
        numbers = [_as_number(table, name, what) for name in self.names]
        matrix = np.stack(numbers, axis=1) if numbers else None
        return sp.csr_matrix(matrix) if self.encode == "sparse" and numbers else matrix

    def spans(self) -> list[tuple[str, int, bool]]:
        """The columns in the order of their features, how many each has, and whether the last says what is missing."""
        plain = [(name, 1, False) for name in self.names]
        return plain or [(fitted.name, fitted.width, fitted.missing) for fitted in self.columns]

    def notes(self, table: pa.Table, what: str) -> list[str]:
        """How each column is encoded."""
        if self.encode != "by_type":
            return [f"{what}: {len(self.names)} columns of numbers as they are"]
        notes = []
        for fitted in self.columns:
            values = finite(table.column(fitted.name))
            used = fitted.missing and fitted.encoder.transform(values.slice(0, 1)) is not None
            gaps = f", {values.null_count} missing" if values.null_count else ""
            also = " (which is a feature too)" if used else ""
            notes.append(f"{what}.{fitted.name}: {fitted.encoder.note}{gaps}{also}")
        return notes


def is_code(name: str, values: pa.ChunkedArray) -> bool:
    """Whether whole numbers are names of kinds: by the column's name, and since few values occur again and again."""
    if not pa.types.is_integer(values.type) or CODE.search(name) is None:
        return False
    return len(values.drop_null().unique()) <= min(MOST_CODES, len(values) // 5)


def _as_number(table: pa.Table, name: str, what: str) -> Block:
    values = table.column(name)
    if not is_number(values.type) or values.null_count:
        raise DiffmgError(
            f"{what}.{name} must be numbers without gaps to be taken as they are, but got {values.type} "
            f"with {values.null_count} missing"
        )
    return values.cast(pa.float32(), safe=False).to_numpy()


def _joined(blocks: Sequence[Block]) -> Block | None:
    if not sum(block.shape[1] for block in blocks):
        return None
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in blocks]))
    return np.concatenate(blocks, axis=1)
