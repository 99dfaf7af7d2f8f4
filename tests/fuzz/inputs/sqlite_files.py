"""SQLite files."""

from __future__ import annotations

from random import Random

from fuzz.case import Case
from fuzz.inputs._databases import database_case
from fuzz.writers import as_sqlite, sqlite_bytes


def cases(seed: int) -> Case:
    """A described, an explored or a damaged database."""
    return database_case(Random(f"sqlite {seed}"), "net.db", as_sqlite, sqlite_bytes)
