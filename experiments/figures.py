"""The paper's figures: validation score over time, and the meta graphs found."""

from __future__ import annotations

from diffmg.core.plan import Source
from diffmg.viz import draw_all
from experiments.cells import Cell
from experiments.curves_svg import curves_svg
from experiments.spec import Table
from experiments.tables import Cells


def figures(table: Table, cells: Cells) -> dict[str, str]:
    """Pictures by file name: none for a table of numbers or for empty curves."""
    if table.kind == "curves":
        drawn = {f"curves-{Source(data).label}.svg": _curves(table, cells, data) for data in table.data}
        return {name: picture for name, picture in drawn.items() if picture}
    if table.kind == "architectures":
        return {
            f"{row}-{Source(data).label}.svg": draw_all(cell.metagraphs, "svg")
            for (row, data), cell in cells.items()
            if cell.metagraphs
        }
    return {}


def _curves(table: Table, cells: Cells, data: str) -> str:
    """One line per row: a training whose epochs were all recorded."""
    found = {row.name: cells[row.name, data] for row in table.methods if (row.name, data) in cells}
    lines = {name: _points(cell) for name, cell in found.items()}
    longest = max((points[-1][0] for points in lines.values() if points), default=0.0)
    unit, scale = ("seconds", 1.0) if longest >= 10 else ("milliseconds", 1000.0)
    scaled = {name: [(scale * x, y) for x, y in points] for name, points in lines.items()}
    metric = next((cell.metric for cell in found.values()), "score")
    return curves_svg(scaled, f"{unit} of training", f"validation {metric}, {data}")


def _points(cell: Cell) -> list[tuple[float, float]]:
    """Seconds and score of each epoch; epochs are spread evenly over the seconds of the training."""
    first = cell.stored[0]
    for phase, scores in first.history.items():
        step = first.run.seconds[phase] / len(scores)
        return [(step * epoch, score) for epoch, score in enumerate(scores, 1)]
    return []
