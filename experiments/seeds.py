"""The authors' meta graphs trained from many seeds, by this package and by the naive reference."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diffmg.engine.device import describe_device, resolve_device
from diffmg.runs.provenance import versions
from diffmg.runs.sources import open_problem
from experiments.jsonl import read_lines, write_lines
from experiments.runner import done_cells, run_table
from experiments.spec import Row, Table
from experiments.tables import Sheet, percent, plus_minus

REFERENCE = "seeds.jsonl"
"""One line per data set: the reference's score for every seed."""


def seeds_table(data: str, seeds: int) -> Table:
    """What this package trains: the authors' meta graphs with the authors' settings."""
    return Table("Many seeds", "accuracy", (data,), seeds, (Row("published", published=True),))


def train_seeds(data: str, seeds: int, folder: Path, device: str, root: Path | None) -> None:
    """Train both with this many seeds and store the scores; an existing run of this package is reused."""
    for _ in run_table(seeds_table(data, seeds), folder, device=device, root=root):
        pass
    lines = {line["data"]: line for line in read_lines(folder / REFERENCE)}
    lines[data] = _reference(data, seeds, device, root)
    write_lines(folder / REFERENCE, lines.values())


def _reference(data: str, seeds: int, device: str, root: Path | None) -> dict[str, Any]:
    from benchmarks.reference import train

    table = seeds_table(data, seeds)
    problem = open_problem(data, root=root).to(resolve_device(device))
    plan = table.plan(table.methods[0], data, 0, device)
    metagraphs = problem.arranged(plan.method.make().metagraphs)  # type: ignore[attr-defined]  # `given` has them
    runs = [train(problem, metagraphs, plan.settings, seed) for seed in range(seeds)]
    where = describe_device(problem.graph.device)
    about = {"data": data, "seeds": seeds, "metric": problem.task.metric, "device": where, "versions": versions()}
    return about | {name: [run[name] for run in runs] for name in ("epoch", "value", "val", "test")}


def seeds_sheet(folder: Path, paper: Mapping[str, tuple[float, ...]]) -> Sheet:
    """Both next to the paper's figure."""
    heads = ("data set", "seeds", "this package", "reference", "paper")
    return Sheet("", heads, tuple(_rows(folder, paper)))


def _rows(folder: Path, paper: Mapping[str, tuple[float, ...]]) -> Iterator[tuple[str, ...]]:
    for line in read_lines(folder / REFERENCE):
        data, test = line["data"], [100 * score for score in line["test"]]
        cell = done_cells(seeds_table(data, line["seeds"]), folder).get(("published", data))
        if cell is not None:
            theirs = plus_minus((statistics.fmean(test), statistics.stdev(test)))
            yield data, str(line["seeds"]), percent(cell), theirs, plus_minus(paper[data])
