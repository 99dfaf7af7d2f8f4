"""Names in SQL: tables and columns always quoted, aliases never those of a table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING, Any

from diffmg.tables.catalogue import DatabaseTable

if TYPE_CHECKING:
    from sqlalchemy import Select


def source_of(table: DatabaseTable) -> Any:
    """A table as what statements select from."""
    import sqlalchemy as sa

    return sa.table(_quoted(table.name), *(sa.column(_quoted(name)) for name in table.columns))


def free_alias(tables: Iterable[str]) -> str:
    """A name that no table has, in any case: some databases take `Orders` and `orders` for the same."""
    taken = {name.casefold() for name in tables}
    return _quoted(next(name for number in count() if (name := f"other_{number}") not in taken))


def all_rows(table: DatabaseTable) -> Select[Any]:
    """Select every column of a table."""
    import sqlalchemy as sa

    source = source_of(table)
    return sa.select(*(source.c[name] for name in table.columns))


def last_value(table: DatabaseTable, column: str) -> Select[Any]:
    """Select the largest value of a column."""
    import sqlalchemy as sa

    return sa.select(sa.func.max(source_of(table).c[column]))


def different_values(table: DatabaseTable, column: str) -> Select[Any]:
    """Select the different values of a column."""
    import sqlalchemy as sa

    return sa.select(source_of(table).c[column]).distinct()


def _quoted(name: str) -> str:
    """The name, quoted in every statement, whatever words a database reserves."""
    from sqlalchemy.sql import quoted_name

    return quoted_name(name, quote=True)
