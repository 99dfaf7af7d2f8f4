"""Columns of yes and no."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from diffmg.tables.columns._base import COLUMN_TYPES
from diffmg.tables.columns._standardised import Standardised


@COLUMN_TYPES.add("yes_no")
@dataclass(frozen=True)
class YesNo(Standardised):
    """A standardised 0 or 1."""

    rank = 10
    words = "yes or no"

    @classmethod
    def takes(cls, kind: pa.DataType) -> bool:
        """Booleans."""
        return bool(pa.types.is_boolean(kind))
