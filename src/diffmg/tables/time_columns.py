"""Which column of a table says when a row is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from diffmg.core import DiffmgError
from diffmg.tables.catalogue import DatabaseTable
from diffmg.tables.dates import FORMS, is_iso, to_iso
from diffmg.tables.naming import source_of
from diffmg.tables.rows import Tables
from diffmg.tables.times import ZONE, is_time

if TYPE_CHECKING:
    from sqlalchemy import Connection

SAMPLE = 1000
"""Rows that are looked at to tell text from dates."""
STATIC = re.compile(r"birth|dob\b|born|founded|died|death")
"""Dates that say nothing of when a row was written."""
LATER = re.compile(
    r"until|expir|due|end|delet|updat|modif|clos|cancel|ship|deliver|return|finish|complet|resol|paid|last"
)
"""Dates that are often filled in after a row was written."""
USUAL = re.compile(r"^(date|time|datetime|timestamp|ts|day|moment|when)$")
WRITTEN = re.compile(
    r"creat|regist|insert|add|start|begin|open|order|post|sign|event|visit|made|issued|date|time|_at$|_on$"
)


def time_columns(connection: Connection, tables: Tables, static: Collection[str] = ()) -> dict[str, str]:
    """For each table with dates, the column that says when its rows are known; other tables are static.

    Times that cannot be read are refused, unless a table is said to be `static`: its rows would be known too early.
    """
    found = {}
    for name, table in tables.items():
        column = None if name in static else time_column(_dates(connection, table))
        if column is not None:
            found[name] = column
        elif name not in static:
            _check_static(connection, table)
    return found


def time_column(names: Mapping[str, bool]) -> str | None:
    """Of columns with dates (and whether each has a type of dates, not text), the one that rows are dated by."""
    able = [name for name in names if not STATIC.search(name.lower())]
    ranked = sorted(able, key=lambda name: (_rank(name.lower()), not names[name], able.index(name)))
    return ranked[0] if ranked else None


def _rank(name: str) -> int:
    if USUAL.search(name):
        return 0
    if LATER.search(name):
        return 3
    return 1 if WRITTEN.search(name) else 2


def _dates(connection: Connection, table: DatabaseTable) -> dict[str, bool]:
    """Columns of dates and moments, and of text and numbers that are one in every row of a sample."""
    others = {c: kind for c, kind in table.columns.items() if c not in table.keys}
    able = [c for c, kind in others.items() if kind in ("text", "any", "integer", "number")]
    read = [c for c in able if _is_dated(c, _sample(connection, table, c))]
    return {c: True for c, kind in others.items() if kind in ("date", "moment")} | dict.fromkeys(read, False)


def _is_dated(name: str, sample: Sequence[Any]) -> bool:
    texts = all(isinstance(v, str) for v in sample)
    if not texts and not all(isinstance(v, int | float) for v in sample):
        return False
    return is_time(pa.chunked_array([pa.array(sample, pa.string() if texts else pa.float64())]), name)


def _sample(connection: Connection, table: DatabaseTable, column: str) -> Sequence[Any]:
    """Some values of a column that are not missing."""
    import sqlalchemy as sa

    source = source_of(table)
    values = sa.select(source.c[column]).where(source.c[column].is_not(None)).limit(SAMPLE)
    return connection.execute(values).scalars().all()


def _check_static(connection: Connection, table: DatabaseTable) -> None:
    """No column of an undated table may look like dates: its rows would be known from the beginning."""
    for column, kind in table.columns.items():
        if column in table.keys or STATIC.search(column.lower()) or kind not in ("text", "any"):
            continue
        odd = _odd_text(_sample(connection, table, column))
        if odd is not None:
            raise DiffmgError(
                f"times are columns of dates, or of text that is clearly one, such as 2024-01-31 or 2024-01-31T12:30, "
                f"with a time zone in all rows or in none, but got {odd!r} in {table.name}.{column}; convert it, or "
                f"say that the rows of {table.name} were known from the beginning: --by static={table.name}, or "
                f"--static {table.name} of `ask`"
            )


def _odd_text(sample: Sequence[Any]) -> str | None:
    """Of texts that are mostly dates, one that is not like the others, or any if all are of another form."""
    texts = [text.strip() for text in sample if isinstance(text, str) and text.strip()]
    known = [any(to_iso(form, text) for form in ("", *FORMS)) and len(text) >= len("1.1.2024") for text in texts]
    if not texts or sum(known) * 2 < len(texts):
        return None
    strange = [t for t, k in zip(texts, known, strict=True) if not k]
    other = [t for t in texts if not is_iso(t) or re.search(ZONE, t)]
    return (strange or other or texts)[0]
