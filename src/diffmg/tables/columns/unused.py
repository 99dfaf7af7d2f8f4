"""Columns that can be no feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder


@COLUMN_TYPES.add("unused")
@dataclass(frozen=True)
class Unused(ColumnEncoder):
    """Takes what no other type takes."""

    kind: str

    rank = 1000

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Anything."""
        return cls(str(values.type))

    @property
    def note(self) -> str:
        """Why."""
        return f"left out ({self.kind} is no kind of feature)"

    def transform(self, values: pa.ChunkedArray) -> Block | None:  # noqa: ARG002
        """Nothing."""
        return None
