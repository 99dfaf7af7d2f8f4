"""The table of rankings: for each data set, what the first items of every method are worth."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from experiments.cells import Cell
from experiments.spec import Table
from experiments.tables import MISSING, Cells, Sheet, devices

SHOWN = {"recall": "recall@20", "ndcg": "ndcg@20", "coverage": "coverage of the first 20"}
"""Scores that are shown, with their heads."""


def ranking_markdown(table: Table, cells: Cells) -> str:
    """A sheet for every data set with runs, then the notes."""
    sheets = [_sheet(table, data, cells).markdown() for data in table.data if any(on == data for _, on in cells)]
    notes = [f"{row.name}: {row.note}" for row in table.methods if row.note]
    return "\n".join([f"**{table.title}**\n", *sheets, *(f"- {note}" for note in (*notes, *devices(cells)))]) + "\n"


def _sheet(table: Table, data: str, cells: Cells) -> Sheet:
    found = {row.name: cells[row.name, data] for row in table.methods if (row.name, data) in cells}
    heads = ("method", "runs", *SHOWN.values(), "seconds", "trainings")
    return Sheet(f"{data}, in percent", heads, tuple(_line(name, cell) for name, cell in found.items()))


def _line(name: str, cell: Cell) -> tuple[str, ...]:
    figures = [_spread([run.scores("test")[score] for run in cell.runs]) for score in SHOWN]
    return (name, str(len(cell.runs)), *figures, f"{cell.run_seconds:.1f}", f"{cell.run_trainings:g}")


def _spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation over runs."""
    if not values:
        return MISSING
    mean = f"{100 * statistics.fmean(values):.2f}"
    return f"{mean} ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else mean
