"""Tables of whole pipelines: for each data set, ensembles and single models side by side, and what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from experiments.bootstrap import Difference
from experiments.cells import Cell
from experiments.comparing import USED, Place
from experiments.spec import Row, Table
from experiments.tables import MISSING, Cells, Sheet, devices
from experiments.votes import ONE

Gaps = Mapping[Place, Difference]


def pipelines_markdown(table: Table, cells: Cells, gaps: Gaps) -> str:
    """A sheet for every data set with runs, then the notes."""
    sheets = [data_sheet(table, data, cells, gaps).markdown() for data in table.data if _runs_on(data, cells)]
    notes = "\n".join(f"- {note}" for note in _notes(table, cells))
    return "\n".join([f"**{table.title}**\n", *sheets, notes]) + "\n"


def data_sheet(table: Table, data: str, cells: Cells, gaps: Gaps) -> Sheet:
    """The rows that were run on a data set."""
    first = table.methods[0].name
    compared = f"{first} minus it", f"single of {first} minus its"
    heads = ("method", "runs", "ensemble (worst)", "single model (worst)", "seconds", "trainings", *compared)
    runs = _runs_on(data, cells)
    rows = tuple(_line(row, data, runs[row.name], gaps) for row in table.methods if row.name in runs)
    metric = next(iter(runs.values())).metric.replace("_", " ")
    return Sheet(f"{data}: test {metric} in percent", heads, rows)


def spread(scores: Sequence[float]) -> str:
    """Mean ± standard deviation, and the lowest, in percent."""
    if len(scores) < 2:
        return f"{100 * scores[0]:.2f}" if scores else MISSING
    mean, std, worst = statistics.fmean(scores), statistics.stdev(scores), min(scores)
    return f"{100 * mean:.2f} ± {100 * std:.2f} ({100 * worst:.2f})"


def _runs_on(data: str, cells: Cells) -> dict[str, Cell]:
    return {name: cell for (name, on), cell in cells.items() if on == data}


def _line(row: Row, data: str, cell: Cell, gaps: Gaps) -> tuple[str, ...]:
    figures = (spread(cell.ensemble), spread(cell.single), f"{cell.run_seconds:.1f}", f"{cell.run_trainings:g}")
    compared = (gaps.get(Place(row.name, data, model), MISSING) for model in (USED, ONE))
    return (row.name, str(len(cell.runs)), *figures, *map(str, compared))


def _notes(table: Table, cells: Cells) -> Iterator[str]:
    yield from (f"{row.name}: {row.note}" for row in table.methods if row.note)
    for data in table.data:
        missing = [row.name for row, on in table.cells if on == data and (row.name, data) not in cells]
        if missing:
            yield f"not run yet on {data}: {', '.join(missing)}"
    yield from devices(cells)
