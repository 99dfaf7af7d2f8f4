"""Carrying a table out: one run folder per method and data set, taken up again where it was stopped."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from diffmg.baselines import make_baseline
from diffmg.experiment import Experiment
from diffmg.folder import RunFolder
from diffmg.plan import Plan
from diffmg.reproduction.spec import Method, Reproduction
from diffmg.run import RUN, Run, read_run
from diffmg.sources import open_problem
from diffmg.strategies import make_strategy
from diffmg.train import Problem, Quiet, Watch


def carry_out(
    table: Reproduction,
    folder: Path,
    *,
    device: str = "auto",
    seed: int = 0,
    root: Path | None = None,
    watch: Callable[[str, str], Watch] = lambda _name, _metric: Quiet(),
) -> Iterator[tuple[Method, str, Run]]:
    """Do every run that is not done yet; yields each with its method and data set, as soon as it is there."""
    plans = {(m.name, data): m.plan(data, table.seeds, seed, device) for data in table.data for m in table.methods}
    paths = {(name, data): folder_of(folder, name, plan.to_dict()) for (name, data), plan in plans.items()}
    problems: dict[str, Problem] = {}
    for (name, data), path in paths.items():
        if not _done(path):
            problems[data] = problems.get(data) or open_problem(data, root=root)
            _check(plans[name, data], problems[data])
    for data in table.data:
        for method in table.methods:
            key = method.name, data
            if not _done(paths[key]):
                told = watch(f"{method.name} on {data}", problems[data].task.metric)
                _carry_out(plans[key], problems[data], paths[key], told)
            yield method, data, read_run(paths[key])


def folder_of(folder: Path, method: str, plan: Mapping[str, Any]) -> Path:
    """The run folder of a method's plan: another plan is another run, on whatever device."""
    decisive = {name: value for name, value in plan.items() if name not in ("device", "engine")}
    mark = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]
    return folder / f"{method}-{re.sub(r'[^a-zA-Z0-9.]+', '-', plan['data'])}-{mark}"


def _check(plan: Plan, problem: Problem) -> None:
    """Raise before anything is trained if a method cannot be made or cannot do the task."""
    if plan.baseline:
        make_baseline(plan.baseline, plan.baseline_options).check(problem)
    else:
        make_strategy(plan.strategy, plan.strategy_options)


def _done(path: Path) -> bool:
    return (path / RUN).exists() and read_run(path).status == "done"


def _carry_out(plan: Plan, problem: Problem, path: Path, watch: Watch) -> None:
    """A run that was stopped goes on; the others start."""
    place = RunFolder.unfinished(path) if (path / RUN).exists() else RunFolder.create(path)
    Experiment(plan, problem, place, watch).execute()
