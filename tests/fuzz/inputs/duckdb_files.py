"""DuckDB files."""

from __future__ import annotations

from random import Random

from fuzz.case import Case
from fuzz.inputs._databases import database_case
from fuzz.writers import as_duckdb, duckdb_bytes


def cases(seed: int) -> Case:
    """A described, an explored or a damaged database."""
    return database_case(Random(f"duckdb {seed}"), "net.duckdb", as_duckdb, duckdb_bytes)
