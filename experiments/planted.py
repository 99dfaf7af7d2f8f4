"""Whether `auto` finds the paths that synthetic data were made with."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan, Source
from diffmg.core.program import compile_program
from diffmg.core.schema import Relation
from diffmg.datasets._made import found
from diffmg.datasets.academic import Academic, make_academic
from diffmg.datasets.shop import Shop, make_shop
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from experiments.steady import AUTO, Line, Say, add_common, checked_names, run_once
from experiments.tables import Sheet
from experiments.trained import note, run_command

PLANTED = "planted.jsonl"
SIZE = 4000


class Make(Protocol):
    """Makes synthetic data."""

    def __call__(self, size: int, seed: int, *, distractors: int, label_noise: float) -> Problem:
        """The problem, as hard as these say."""


@dataclass(frozen=True)
class Variant:
    """Synthetic data, their planted meta graphs, and how hard they are."""

    make: Make
    planted: tuple[MetaGraph, ...]
    distractors: int = 1
    label_noise: float = 0.0

    def problem(self, size: int, seed: int) -> Problem:
        """The network of about this size."""
        return self.make(size, seed, distractors=self.distractors, label_noise=self.label_noise)


VARIANTS: Mapping[str, Variant] = {
    "academic": Variant(make_academic, Academic.planted),
    "shop": Variant(make_shop, Shop.planted),
    "academic, harder": Variant(make_academic, Academic.planted, distractors=2, label_noise=0.2),
    "shop, harder": Variant(make_shop, Shop.planted, distractors=2, label_noise=0.2),
}


def run_planted(
    seeds: int,
    budget: int,
    out: Path,
    device: str = "auto",
    *,
    data: Sequence[str] = (),
    size: int = SIZE,
    say: Say = lambda _: None,
) -> Sheet:
    """Run `auto` with a budget in trainings on all variants, or those named; every seed makes another network.

    A finished run is one line of `planted.jsonl` in the folder `out` and is not done again; one that failed is.
    """
    lines = []
    for name in checked_names("synthetic data", data, VARIANTS):
        for seed in range(seeds):
            plan = make_plan(Source(), AUTO, seed=seed, device=device, budget=budget, single=True)
            key = {"data": name, "size": size, "seed": seed, "budget": budget}
            lines.append(run_once(out / PLANTED, key, partial(_result, plan, VARIANTS[name], size), say))
    return planted_sheet(lines)


def planted_sheet(lines: Iterable[Line]) -> Sheet:
    """How often the planted paths were found, and how many relations the single model uses besides theirs."""
    by_data: dict[str, list[Line]] = {}
    failed = []
    for line in lines:
        if "error" in line:
            failed.append(f"{line['data']}, seed {line['seed']}, failed: {line['error']}")
        else:
            by_data.setdefault(line["data"], []).append(line)
    heads = ("data", "found", "further relations", "test score of the single model, %")
    return Sheet("Planted paths", heads, tuple(_row(*each) for each in by_data.items()), tuple(failed))


def further_relations(metagraphs: Iterable[MetaGraph], planted: Iterable[MetaGraph]) -> int:
    """Relations that carry messages to a target and are not planted there, summed over targets."""
    return len(_used(metagraphs) - _used(planted))


def readable(metagraph: MetaGraph, *, every_state: bool) -> tuple[MetaGraph, ...]:
    """The meta graphs whose last states an encoder reads: itself, and its beginnings where it reads every state."""
    first = 1 if every_state else metagraph.depth
    depths = range(first, metagraph.depth + 1)
    return tuple(MetaGraph(metagraph.target, metagraph.operations[: k * (k + 1) // 2]) for k in depths)


def _result(plan: Plan, variant: Variant, size: int) -> Line:
    """What the single model of a race found."""
    done, model = run(plan, variant.problem(size, plan.seed))
    every_state = model.recipe.settings.states != "last"
    read = [part for m in done.metagraphs for part in readable(m, every_state=every_state)]
    return {
        "found": found(read, variant.planted),
        "further": further_relations(read, variant.planted),
        "val": done.mean("val"),
        "test": done.mean("test"),
        "seconds": round(sum(done.seconds.values()), 3),
        "device": done.device,
        "metagraphs": [m.to_dict() for m in done.metagraphs],
    }


def _used(metagraphs: Iterable[MetaGraph]) -> set[tuple[str, Relation]]:
    """Targets with the relations that carry messages to them."""
    steps = ((m.target, step) for m in metagraphs for step in compile_program(m).steps)
    return {(target, product.relation) for target, step in steps for product in step.products}


def _row(name: str, lines: Sequence[Line]) -> tuple[str, ...]:
    more, test = (statistics.fmean(line[what] for line in lines) for what in ("further", "test"))
    return name, f"{sum(line['found'] for line in lines)} of {len(lines)}", f"{more:.1f}", f"{100 * test:.2f}"


def main(arguments: Sequence[str]) -> int:
    """Run what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    parser = ArgumentParser(prog="python -m experiments planted", description="Whether `auto` finds planted paths.")
    parser.add_argument("--data", nargs="*", default=(), metavar="NAME", help=f"default: {', '.join(VARIANTS)}")
    add_common(parser, seeds=10)
    given = parser.parse_args(arguments)
    return run_planted(given.seeds, given.budget, given.out, given.device, data=given.data, say=note).markdown()
