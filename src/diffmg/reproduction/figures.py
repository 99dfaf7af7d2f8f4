"""Figures of the paper again: validation score against time, and the meta graphs that were found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from diffmg.drawing import draw_all
from diffmg.plan import Plan
from diffmg.report.curves import curves_svg
from diffmg.reproduction.carrying import folder_of
from diffmg.reproduction.spec import Reproduction, plain_name
from diffmg.run import Run, read_history

Runs = Mapping[tuple[str, str], Run]
"""By method and data set."""


def figures(table: Reproduction, runs: Runs, folder: Path) -> dict[str, str]:
    """Pictures by file name: none for a table of numbers."""
    if table.kind == "curves":
        return {f"curves-{plain_name(data)}.svg": _curves(table, runs, folder, data) for data in table.data}
    if table.kind == "architectures":
        return {
            f"{name}-{plain_name(data)}.svg": draw_all(r.metagraphs, "svg")
            for (name, data), r in runs.items()
            if r.metagraphs
        }
    return {}


def _curves(table: Reproduction, runs: Runs, folder: Path, data: str) -> str:
    """One line per method: the first training, its epochs spread evenly over its seconds."""
    lines = {}
    for method in table.methods:
        run = runs.get((method.name, data))
        if run is not None:
            lines[method.name] = _points(run, folder_of(folder, method.name, Plan.from_dict(run.plan)))
    longest = max((points[-1][0] for points in lines.values() if points), default=0.0)
    unit, scale = ("seconds", 1.0) if longest >= 10 else ("milliseconds", 1000.0)
    scaled = {name: [(scale * x, y) for x, y in points] for name, points in lines.items()}
    metric = next((r.metric for (_, on), r in runs.items() if on == data), "score")
    return curves_svg(scaled, f"{unit} of training", f"validation {metric}, {data}")


def _points(run: Run, folder: Path) -> list[tuple[float, float]]:
    records = [r for r in read_history(folder) if not r["phase"].startswith("search")]
    first = [r for r in records if r["phase"] == records[0]["phase"]]
    step = run.seconds[first[0]["phase"]] / len(first) if first else 0.0
    return [(step * r["epoch"], r["val_score"]) for r in first]
