"""Columns become features, each by its type. One file per kind of them."""

from diffmg.tables.columns._base import COLUMN_TYPES, ColumnEncoder, fit_column

__all__ = ["COLUMN_TYPES", "ColumnEncoder", "fit_column"]
