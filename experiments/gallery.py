"""The gallery's runs: every method once on a small made network, and the default on each of the made networks."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from diffmg.core.codec import to_plain
from diffmg.core.method import METHODS
from diffmg.core.plan import Source
from diffmg.core.run import metagraphs_to_dict
from diffmg.datasets import DATASETS
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan, open_problem
from experiments import RESULTS
from experiments.steady import Line, Say, checked_names, run_once
from experiments.tables import Sheet
from experiments.trained import note, run_command

GALLERY = "gallery.jsonl"
SIZE = 1000
LABELLED, PAIRED = f"academic:{SIZE}", f"shop:{SIZE}"
DEFAULT = "auto"
TRAININGS = 24
"""The budget of the default method."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "random_search": {"trials": 20, "search_seeds": 1},
    "genetic": {"population": 10, "generations": 5, "search_seeds": 1},
    "gems": {"structures": 2, "population": 5, "generations": 2},
}
"""What is made quicker here than by default."""


def subjects() -> dict[tuple[str, str], Mapping[str, Any]]:
    """What is run: method and data set, with the options of the method."""
    made = [(DEFAULT, f"{name}:{SIZE}") for name, kind in DATASETS.items() if not kind(name).card().files]
    chosen = [(name, LABELLED if 1 in kind.towers else PAIRED) for name, kind in METHODS.items() if kind.towers]
    left_out = {DEFAULT, "given"}
    return {key: OPTIONS.get(key[0], {}) for key in [*made, *(pair for pair in chosen if pair[0] not in left_out)]}


def run_gallery(out: Path, device: str = "auto", *, methods: Sequence[str] = (), say: Say = lambda _: None) -> Sheet:
    """Run what is missing; a finished run is one line of `gallery.jsonl` and is not done again."""
    wanted = checked_names("method of the gallery:", methods, dict.fromkeys(name for name, _ in subjects()))
    lines = []
    for (name, data), options in subjects().items():
        if name in wanted:
            key = {"method": name, "data": data, "options": dict(options)}
            lines.append(run_once(out / GALLERY, key, partial(_result, name, data, options, device), say))
    return Sheet("", ("method", "data", "test score"), tuple(map(_row, lines)))


def _result(name: str, data: str, options: Mapping[str, Any], device: str) -> Line:
    source = Source(data)
    budget = TRAININGS if METHODS.get(name).races else None
    done, _ = run(make_plan(source, name, options, device=device, budget=budget), open_problem(source))
    best = done.single or done.trained[done.kept]
    return {
        "metric": done.metric,
        "test": round(best.test[done.metric], 4),
        "seconds": round(sum(done.seconds.values()), 1),
        "metagraphs": metagraphs_to_dict(done.metagraphs) if done.metagraphs else None,
        "importances": to_plain(done.importances),
    }


def _row(line: Line) -> tuple[str, ...]:
    score = line["error"] if "error" in line else f"{line['metric']} {line['test']:.3f}"
    return line["method"], line["data"], score


def main(arguments: Sequence[str]) -> int:
    """Run what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    parser = ArgumentParser(prog="python -m experiments gallery", description="The runs that docs/gallery.md draws.")
    parser.add_argument("--methods", nargs="*", default=(), metavar="NAME", help="default: all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    return run_gallery(given.out, given.device, methods=given.methods, say=note).markdown()
