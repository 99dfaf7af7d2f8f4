"""Columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from diffmg.tables.columns._base import COLUMN_TYPES, is_number
from diffmg.tables.columns._standardised import Standardised


@COLUMN_TYPES.add("number")
@dataclass(frozen=True)
class Number(Standardised):
    """A standardised number."""

    rank = 20
    words = "number"

    @classmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Whole numbers, fractions, decimals."""
        return is_number(kind)
