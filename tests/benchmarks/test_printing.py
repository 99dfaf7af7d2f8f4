from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from benchmarks.printing import engine_table, growth_table

OURS = {"median": 0.0123, "low": 0.0112, "high": 0.0156, "peak_bytes": 123_000_000}
OTHER = {"median": 0.0789, "low": 0.0778, "high": 0.0812, "peak_bytes": None}


def rows(table: Table) -> list[list[str]]:
    """The cells that a person sees."""
    console = Console(file=io.StringIO(), width=300)
    console.print(table)
    lines = console.file.getvalue().splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_both_programs_or_one():
    alone = {"ours": OURS | {"whole_median": 2.345}, "ratio": None}
    both = {"ours": OURS, "yardstick": OTHER, "ratio": 6.41}
    assert rows(engine_table({"acm": {"search": alone, "retrain": both}})) == [
        ["acm", "search", "12.30 (11.20 to 15.60)", "-", "-", "123", "-", "2.35"],
        ["acm", "retrain", "12.30 (11.20 to 15.60)", "78.90 (77.80 to 81.20)", "6.4", "123", "-", "-"],
    ]


def test_growth_has_an_exponent_from_the_second_size_on():
    points = [{"nodes": n, "edges": 10 * n, **OURS} for n in (1000, 2000)]
    assert rows(growth_table(points, {"seconds": {"between": [1.074]}})) == [
        ["1,000", "10,000", "12.30 (11.20 to 15.60)", "123", "-"],
        ["2,000", "20,000", "12.30 (11.20 to 15.60)", "123", "1.07"],
    ]
