"""Which column of a table says when a row is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from diffmg.tables.catalogue import DatabaseTable
from diffmg.tables.rows import Tables, read_rows, select_rows
from diffmg.tables.times import is_time

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


def time_columns(connection: Connection, tables: Tables) -> dict[str, str]:
    """For each table with dates, the column that says when its rows are known; other tables are static."""
    found = {}
    for name, table in tables.items():
        column = time_column(_dates(connection, table, tables))
        if column is not None:
            found[name] = column
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


def _dates(connection: Connection, table: DatabaseTable, tables: Tables) -> dict[str, bool]:
    """Columns of dates and moments, and of text that is one in every row of a sample."""
    typed = {c: True for c, kind in table.columns.items() if kind in ("date", "moment") and c not in table.keys}
    texts = [c for c, kind in table.columns.items() if kind in ("text", "any") and c not in table.keys]
    if not texts:
        return typed
    statement = select_rows(connection, table, texts, tables, {}).limit(SAMPLE)
    sample = read_rows(connection, statement, texts, [table.columns[c] for c in texts])
    return typed | {c: False for c in texts if is_time(sample.column(c))}
