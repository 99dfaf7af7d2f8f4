"""The table of predictions at moments: our rows beside scores that others report.

The standard error is that of one run's score, by resampling the test part; the spread is over runs.
"""

from __future__ import annotations

import statistics

from experiments.cells import Cell
from experiments.spec import Table
from experiments.tables import MISSING, Cells, Sheet, devices


def predictions_markdown(table: Table, cells: Cells) -> str:
    """A sheet for every task with runs, others' reports below ours."""
    sheets = [_sheet(table, data, cells).markdown() for data in table.data if any(on == data for _, on in cells)]
    notes = [f"{row.name}: {row.note}" for row in table.methods if row.note]
    return "\n".join([f"**{table.title}**\n", *sheets, *(f"- {note}" for note in (*notes, *devices(cells)))]) + "\n"


def _sheet(table: Table, data: str, cells: Cells) -> Sheet:
    found = {row.name: cells[row.name, data] for row in table.methods if (row.name, data) in cells}
    metric = next(iter(found.values())).metric
    heads = ("method", "runs", f"test {metric}", "standard error", "single model", "seconds", "trainings")
    ours = [_line(name, cell) for name, cell in found.items()]
    others = [
        (f"{who}, their report", MISSING, f"{figures[data]:g}", *[MISSING] * 4)
        for who, figures in _reports(table, data)
    ]
    return Sheet(data, heads, (*ours, *others))


def _reports(table: Table, data: str) -> list[tuple[str, dict[str, float]]]:
    return [(who, dict(figures)) for who, figures in table.reports.items() if data in figures]


def _line(name: str, cell: Cell) -> tuple[str, ...]:
    used, single = (_spread(values) for values in (cell.test, cell.single))
    errors = [run.certainty.error for run in cell.runs if run.certainty and run.certainty.error is not None]
    error = f"{statistics.fmean(errors):.3f}" if errors else MISSING
    return (name, str(len(cell.runs)), used, error, single, f"{cell.run_seconds:.0f}", f"{cell.run_trainings:g}")


def _spread(values: list[float]) -> str:
    """Mean ± standard deviation over runs."""
    if not values:
        return MISSING
    mean = f"{statistics.fmean(values):.3f}"
    return f"{mean} ± {statistics.stdev(values):.3f}" if len(values) > 1 else mean
