"""The demo: a first command for new users."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.core import Method, Run
from diffmg.core.perfect import perfect_scores

if TYPE_CHECKING:
    from diffmg.tasks.problem import Problem

RANDOM_DRAWS = 10
SHOWN = 3
"""Paths of the meta graph that the table names."""
BUDGET = "25s"
OVERWRITE = "Replace the run in this folder; else the next free name is taken."


def demo(
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")] = Path("runs/demo"),
    name: Annotated[str, typer.Option("--data", help="A made data set: academic or shop.")] = "academic",
    seed: common.Seed = 0,
    device: common.Device = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE, show_default="no")] = False,
) -> output.Value:
    """Search, train and score on a built-in network, beside a random meta graph and features alone."""
    import torch

    from diffmg.datasets import DATASETS, load_dataset, parse_name
    from diffmg.methods.search.features import FeaturesOnly
    from diffmg.methods.search.random import RandomMetaGraph
    from diffmg.runs.folder import RunFolder
    from diffmg.runs.replacing import replacing
    from diffmg.runs.runner import run
    from diffmg.runs.sources import make_plan
    from diffmg.viz import draw_all, write_report

    torch.set_num_threads(1)  # on a network this small, threads cost more than they save, especially on busy cores
    problem = load_dataset(name)
    say(f"{name}: {DATASETS.get(parse_name(name)[0]).summary}")
    watch = common.ProgressWatch(problem.task.metric)
    plan = make_plan(problem.source, seed=seed, device=device, budget=BUDGET)
    place = out if overwrite else _free(out)
    with replacing(place, tell=lambda words: say(words, common.errors)):
        folder = RunFolder.create(place)
        done, _ = run(plan, problem, folder, watch)
        write_report(folder.path)
    randoms = [_rival(problem, RandomMetaGraph(search_seeds=1), seed + i, device) for i in range(RANDOM_DRAWS)]
    features = _rival(problem, FeaturesOnly(), seed, device)
    say(draw_all(done.metagraphs, "text", importances=done.importances))
    console.print(_table(done, randoms, features))
    for line in perfect_scores(done):
        say(line, common.errors)
    say(f"run folder: {folder.path} (open report.html there)")
    beside = {"random meta graph": [r.mean("test") for r in randoms], "features only": features.mean("test")}
    return {"folder": folder.path, "beside": beside, **done.to_dict()}


def _rival(problem: Problem, method: Method, seed: int, device: str) -> Run:
    from diffmg.runs.runner import run
    from diffmg.runs.sources import make_plan

    return run(make_plan(problem.source, method, seed=seed, device=device), problem)[0]


def _table(run: Run, randoms: list[Run], features: Run) -> Table:
    table = Table("method", f"test {run.metric}", "meta graph", title="what the meta graph adds", title_justify="left")
    assert run.single is not None, "the default is a race with an ensemble"
    table.add_row("the meta graph found", f"{run.single.test[run.metric]:.3f}", _paths(run), style="bold")
    members = len(run.evidence.shares) if run.evidence is not None else 1
    table.add_row("ensemble, for predictions", f"{run.mean('test'):.3f}", f"candidates: {members}")
    scores = sorted(r.mean("test") for r in randoms)
    mean = sum(scores) / len(scores)
    spread = f"mean of {len(scores)} draws, from {scores[0]:.3f} to {scores[-1]:.3f}"
    table.add_row("random meta graph", f"{mean:.3f}", spread)
    table.add_row("features only", f"{features.mean('test'):.3f}", "no relations")
    return table


def _paths(run: Run) -> str:
    """The paths without which the validation score drops most; the longest ones where that was not measured."""
    from diffmg.viz.words import path_types

    ranked = sorted((p for p in run.importances if p.path), key=lambda p: -p.drop)[:SHOWN]
    paths = [(p.path, p.target) for p in ranked]
    paths = paths or [(path, m.target) for m in run.metagraphs for path in m.longest_paths()]
    return "\n".join(dict.fromkeys(path_types(path, target) for path, target in paths))


def _free(path: Path) -> Path:
    """`path`, or the first of `path-2`, `path-3`, ... that does not exist, so that the demo can be run repeatedly."""
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(free for free in chain([path], others) if not free.exists())
