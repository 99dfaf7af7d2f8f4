"""Whether the meta path that synthetic data were made with is the one that an explanation ranks first."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from diffmg.core.importance import PathImportance, path_names
from diffmg.core.metagraph import Link, MetaGraph, MetaPath, Operation
from diffmg.core.plan import Plan, Source
from diffmg.core.schema import Relation
from diffmg.core.space import SearchSpace
from diffmg.datasets import academic, shop
from diffmg.methods.given import Given
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from experiments import RESULTS
from experiments.planted import VARIANTS
from experiments.steady import Line, Say, checked_names, run_once
from experiments.tables import Sheet
from experiments.trained import note, run_command

EXPLAINED = "explained.jsonl"
SIZE = 4000
DISTRACTORS: Mapping[str, frozenset[str]] = {
    "academic": frozenset(relation.name for relation, _ in academic.DISTRACTORS),
    "shop": frozenset({"friend", *(relation.name for relation, _ in shop.DISTRACTORS)}),
}
"""Names of the relations that tell nothing."""


def run_explained(
    seeds: int,
    out: Path,
    device: str = "auto",
    *,
    data: Sequence[str] = (),
    size: int = SIZE,
    say: Say = lambda _: None,
) -> Sheet:
    """Train planted meta graphs among distractors, and rank their paths; every seed makes another network.

    A finished run is one line of `explained.jsonl` in the folder `out` and is not done again; one that failed is.
    """
    lines = []
    for name in checked_names("synthetic data", data, DISTRACTORS):
        for seed in range(seeds):
            problem = VARIANTS[name].problem(size, seed)
            mixed = tuple(among_distractors(m, problem, DISTRACTORS[name]) for m in VARIANTS[name].planted)
            plan = make_plan(Source(), Given(mixed), seed=seed, device=device)
            key = {"data": name, "size": size, "seed": seed}
            planted = [(m.target, longest(m)) for m in VARIANTS[name].planted]
            lines.append(run_once(out / EXPLAINED, key, partial(_result, plan, problem, planted), say))
    return explained_sheet(lines)


def among_distractors(planted: MetaGraph, problem: Problem, names: frozenset[str]) -> MetaGraph:
    """The planted meta graph with every relation of these names on each link that may have it."""
    space = SearchSpace.dag(problem.graph.schema, planted.target, planted.depth)
    links: dict[Link, tuple[Operation, ...]] = {}
    for (link, own), (_, candidates) in zip(planted.items(), space.items(), strict=True):
        more = [o for o in candidates if isinstance(o, Relation) and o.name in names]
        kept: list[Operation] = [o for o in own if isinstance(o, Relation)] or ([] if more else [*own])
        links[link] = tuple(dict.fromkeys([*kept, *more]))
    return MetaGraph.of(planted.target, links)


def longest(metagraph: MetaGraph) -> MetaPath:
    """The one path that a planted meta graph was made for."""
    return metagraph.longest_paths()[0]


def ranks(found: Iterable[PathImportance], target: str, path: MetaPath) -> int:
    """The place of a path among those into a target, from 1; 0 if it is not there."""
    own = [p.path for p in found if p.target == target]
    return own.index(path) + 1 if path in own else 0


def explained_sheet(lines: Iterable[Line]) -> Sheet:
    """How often the planted path of every target is first, and what it is worth."""
    by_data: dict[str, list[Line]] = {}
    failed = []
    for line in lines:
        if "error" in line:
            failed.append(f"{line['data']}, seed {line['seed']}, failed: {line['error']}")
        else:
            by_data.setdefault(line["data"], []).append(line)
    rows = tuple(
        (
            name,
            f"{sum(set(line['ranks']) == {1} for line in done)} of {len(done)}",
            _mean(done, "drop"),
            _mean(done, "val"),
        )
        for name, done in by_data.items()
    )
    heads = ("data", "planted paths first", "drop without them, %", "validation score, %")
    return Sheet("Planted paths explained", heads, rows, tuple(failed))


def _result(plan: Plan, problem: Problem, planted: Sequence[tuple[str, MetaPath]]) -> Line:
    done, _ = run(plan, problem)
    drops = [p.drop for p in done.importances if (p.target, p.path) in planted]
    return {
        "ranks": [ranks(done.importances, *each) for each in planted],
        "drop": statistics.fmean(drops) if drops else 0.0,
        "val": done.mean("val"),
        "paths": [[p.target, path_names(p.path), round(p.drop, 4), round(p.std, 4)] for p in done.importances],
        "seconds": round(done.seconds["importances"], 3),
    }


def _mean(lines: Sequence[Line], what: str) -> str:
    return f"{100 * statistics.fmean(line[what] for line in lines):.2f}"


def main(arguments: Sequence[str]) -> int:
    """Run what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    parser = ArgumentParser(prog="python -m experiments explained", description="Whether planted paths rank first.")
    parser.add_argument("--data", nargs="*", default=(), metavar="NAME", help=f"default: {', '.join(DISTRACTORS)}")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    return run_explained(given.seeds, given.out, given.device, data=given.data, size=given.size, say=note).markdown()
