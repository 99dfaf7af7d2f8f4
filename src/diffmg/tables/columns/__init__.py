"""Column types, which turn columns into features. One file per group of types."""

from diffmg.tables.columns._base import COLUMN_TYPES, ColumnEncoder, fit_column

__all__ = ["COLUMN_TYPES", "ColumnEncoder", "fit_column"]
