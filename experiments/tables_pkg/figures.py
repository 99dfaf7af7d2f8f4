"""Figures of the paper again: validation score against time, and the meta graphs that were found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffmg.core.plan import Plan
from diffmg.core.run import Run, read_history
from diffmg.reproduction.carrying import folder_of
from diffmg.reproduction.spec import Reproduction
from diffmg.runs.sources import plain_name
from diffmg.viz import draw_all
from diffmg.viz.curves import curves_svg

Runs = Mapping[tuple[str, str], Run]
"""By method and data set."""


def figures(table: Reproduction, runs: Runs, folder: Path) -> dict[str, str]:
    """Pictures by file name: none for a table of numbers, nor of curves without a point."""
    if table.kind == "curves":
        drawn = {f"curves-{plain_name(data)}.svg": _curves(table, runs, folder, data) for data in table.data}
        return {name: picture for name, picture in drawn.items() if picture}
    if table.kind == "architectures":
        return {
            f"{name}-{plain_name(data)}.svg": draw_all(r.metagraphs, "svg")
            for (name, data), r in runs.items()
            if r.metagraphs
        }
    return {}


def _curves(table: Reproduction, runs: Runs, folder: Path, data: str) -> str:
    """One line per method: the training of median seconds, over which its epochs are spread evenly.

    Of several, the first one in a process is slower than the others by what is compiled only once.
    """
    lines = {}
    for method in table.methods:
        run = runs.get((method.name, data))
        if run is not None:
            lines[method.name] = _points(
                run, folder_of(folder, method.name, Plan.from_dict(run.plan), timed=table.timed)
            )
    longest = max((points[-1][0] for points in lines.values() if points), default=0.0)
    unit, scale = ("seconds", 1.0) if longest >= 10 else ("milliseconds", 1000.0)
    scaled = {name: [(scale * x, y) for x, y in points] for name, points in lines.items()}
    metric = next((r.metric for (_, on), r in runs.items() if on == data), "score")
    return curves_svg(scaled, f"{unit} of training", f"validation {metric}, {data}")


def _points(run: Run, folder: Path) -> list[tuple[float, float]]:
    trainings: dict[str, list[dict[str, Any]]] = {}
    for record in read_history(folder):
        if not record["phase"].startswith("search"):
            trainings.setdefault(record["phase"], []).append(record)
    if not trainings:
        return []
    phase = sorted(trainings, key=lambda phase: run.seconds[phase])[(len(trainings) - 1) // 2]
    step = run.seconds[phase] / len(trainings[phase])
    return [(step * r["epoch"], r["val_score"]) for r in trainings[phase]]
