"""One file for each kind of input: `cases(seed)` makes a case, always the same for a seed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from fuzz.case import Case

INPUTS = (
    "descriptions", "csv_files", "parquet_files", "sqlite_files", "duckdb_files", "triples", "metagraphs",
    "run_folders", "stopped_runs", "command_lines", "predictions", "questions", "ratings", "routes", "reuse",
)  # fmt: skip


def generator(name: str) -> Callable[[int], Case]:
    """The function that makes the cases of an input."""
    cases: Callable[[int], Case] = import_module(f"fuzz.inputs.{name}").cases
    return cases
