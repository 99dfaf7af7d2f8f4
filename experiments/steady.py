"""How steady the default is: `auto` beside every other method, on networks that none was tuned for."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.method import METHODS
from diffmg.core.plan import Plan, Source
from diffmg.core.settings import Settings
from diffmg.runs.provenance import data_of
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from experiments import RESULTS
from experiments.jsonl import read_lines, write_lines
from experiments.networks import NETWORKS
from experiments.paired import difference_error
from experiments.tables import MISSING, Sheet
from experiments.trained import note, run_command

STEADY = "steady.jsonl"
AUTO = "auto"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Predicted classes are stored as one of these per test node."""
Line = dict[str, Any]
Cells = Mapping[tuple[str, str], list[Line]]
"""Runs by network and method."""
Say = Callable[[str], None]


def run_steady(
    seeds: int,
    budget: int,
    methods: Sequence[str],
    out: Path,
    device: str = "auto",
    *,
    networks: Sequence[str] = (),
    say: Say = lambda _: None,
) -> list[Sheet]:
    """Run `auto` with a budget in trainings, and the methods (default: all) as they are, on every network.

    A finished run is one line of `steady.jsonl` in the folder `out` and is not done again; one that failed is.
    """
    lines = []
    for network in checked_names("network", networks, NETWORKS):
        problem = NETWORKS[network](0)
        data = data_of(problem).hash[:12]
        for method in (AUTO, *_capable(problem, methods)):
            for seed in range(seeds):
                spent = budget if method == AUTO else None
                key = {"network": network, "data": data, "method": method, "seed": seed, "budget": spent}
                plan = make_plan(Source(), method, seed=seed, device=device, budget=spent)
                lines.append(run_once(out / STEADY, key, partial(_result, plan, problem), say))
    return steady_sheets(lines)


def run_once(path: Path, key: Line, work: Callable[[], Line], say: Say) -> Line:
    """The line of a file that has this key; what is missing, or failed before, is done first."""
    for line in read_lines(path):
        if line.items() >= key.items() and "error" not in line:
            return line
    say(", ".join(f"{name} {value}" for name, value in key.items() if value is not None))
    try:
        done = {**key, **work()}
    except (DiffmgError, RuntimeError) as error:
        done = {**key, "error": f"{type(error).__name__}: {error}"}
    others = [line for line in read_lines(path) if not line.items() >= key.items()]
    write_lines(path, [*others, done])
    return done


def steady_sheets(lines: Iterable[Line]) -> list[Sheet]:
    """What `auto` loses to the best method of each network, and the scores of all methods."""
    cells: dict[tuple[str, str], list[Line]] = {}
    failed = []
    for line in lines:
        if "error" in line:
            failed.append(f"{line['method']} on {line['network']}, seed {line['seed']}, failed: {line['error']}")
        else:
            cells.setdefault((line["network"], line["method"]), []).append(line)
    names = [name for name in NETWORKS if (name, AUTO) in cells]
    heads = ("network", "auto", "its best model", "best other method", "its score", "regret", "above chance")
    notes = ["mean test macro F1 in percent; the best other method is chosen by test", *_false_claims(cells)]
    regret = Sheet("Steadiness", heads, tuple(_row(name, cells) for name in names), tuple(notes))
    methods = sorted({method for _, method in cells}, key=lambda m: (m != AUTO, m))
    scores = tuple((m, *(_percent(cells.get((name, m), []), "test") for name in names)) for m in methods)
    return [regret, Sheet("All methods", ("method", *names), scores, tuple(failed))]


def regret_of(network: str, cells: Cells) -> tuple[str, float, float]:
    """The best other method by mean test score, what `auto` loses to it, and the standard error of that."""
    others = {m: done for (name, m), done in cells.items() if name == network and m != AUTO}
    best = max(others, key=lambda m: (_mean(others[m], "test"), m))
    own, task = cells[network, AUTO], NETWORKS[network](0).task
    true = task.labels[task.parts["test"]].numpy()  # type: ignore[attr-defined]  # all are classifications
    error = difference_error(_predicted(others[best]), _predicted(own), true)
    return best, _mean(others[best], "test") - _mean(own, "test"), error


def _result(plan: Plan, problem: Problem) -> Line:
    """Scores, seconds and the predicted classes of the test nodes."""
    done, model = run(plan, problem)
    task = model.problem.task
    classes = task.decide(model.outputs[0][task.parts["test"]])  # type: ignore[attr-defined]
    line = {
        "val": done.mean("val"),
        "test": done.mean("test"),
        "seconds": round(sum(done.seconds.values()), 3),
        "device": done.device,
        "predicted": "".join(DIGITS[c] for c in classes.tolist()),
    }
    if done.evidence is not None:
        line |= {"chance": done.evidence.chance, "above_chance": done.evidence.above_chance}
    return line if done.single is None else line | {"single": done.single.test[done.metric]}


def _capable(problem: Problem, methods: Sequence[str]) -> list[str]:
    """Those of the methods (default: all) that can do the task with their defaults, without a budget."""
    found = []
    for name in checked_names("method", methods, METHODS.names()):
        kind = METHODS.get(name)
        try:
            kind().check(problem, Settings(**kind.default_settings))
        except DiffmgError:
            continue
        found += [name] if not kind.races else []
    return found


def checked_names(what: str, given: Sequence[str], known: Iterable[str]) -> list[str]:
    """The names given, or all."""
    names = list(known)
    for name in given:
        if name not in names:
            raise unknown(what, name, names)
    return list(given) or names


def _row(network: str, cells: Cells) -> tuple[str, ...]:
    own = cells[network, AUTO]
    claims = f"{sum(line['above_chance'] for line in own)} of {len(own)}"
    shown = (network, _percent(own, "test"), _percent(own, "single"))
    if all(name != network or method == AUTO for name, method in cells):
        return (*shown, MISSING, MISSING, MISSING, claims)
    best, regret, error = regret_of(network, cells)
    score = _percent(cells[network, best], "test")
    return (*shown, best, score, f"{100 * regret:+.2f} ± {100 * error:.2f}", claims)


def _false_claims(cells: Cells) -> list[str]:
    """Where random labels were taken for more."""
    seeds = [str(line["seed"]) for line in cells.get(("nothing", AUTO), []) if line["above_chance"]]
    return [f"labels of `nothing` are random, but got more than chance from seeds {', '.join(seeds)}"] if seeds else []


def _predicted(lines: Sequence[Line]) -> NDArray[np.int64]:
    """Predicted classes, (runs, nodes)."""
    return np.array([[DIGITS.index(digit) for digit in line["predicted"]] for line in lines])


def _mean(lines: Sequence[Line], what: str) -> float:
    return statistics.fmean(line[what] for line in lines)


def _percent(lines: Sequence[Line], what: str) -> str:
    values = [100 * line[what] for line in lines if what in line]
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread}" if values else MISSING


def main(arguments: Sequence[str]) -> int:
    """Run what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    parser = ArgumentParser(
        prog="python -m experiments steady", description="`auto` beside all others, on made networks."
    )
    parser.add_argument("--networks", nargs="*", default=(), metavar="NAME", help="default: all of them")
    parser.add_argument("--methods", nargs="*", default=(), metavar="NAME", help="default: all that can do it")
    add_common(parser, seeds=3)
    given = parser.parse_args(arguments)
    options = {"networks": given.networks, "say": note}
    sheets = run_steady(given.seeds, given.budget, given.methods, given.out, given.device, **options)
    return "\n".join(sheet.markdown() for sheet in sheets)


def add_common(parser: ArgumentParser, *, seeds: int) -> None:
    """The options that runs on made data have in common."""
    parser.add_argument("--seeds", type=int, default=seeds, help=f"whole runs of `auto`; {seeds} by default")
    parser.add_argument("--budget", type=int, default=300, help="trainings of a run of `auto`; 300 by default")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
