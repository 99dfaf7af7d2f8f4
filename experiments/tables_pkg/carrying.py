"""Carrying a table out: settings chosen where there are none yet, then a run folder per method and data set.

What is there already, chosen settings and finished runs, is not done again; a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from diffmg.core.errors import DiffmgError
from diffmg.core.files import make_folder
from diffmg.core.plan import Plan
from diffmg.core.run import RUN, Run, read_run
from diffmg.engine.device import resolve_device
from diffmg.methods.baselines import make_baseline
from diffmg.methods.search import make_strategy
from diffmg.reproduction.spec import Method, Reproduction
from diffmg.reproduction.tasks import Task, Watching, do_all
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import Experiment
from diffmg.runs.sources import open_problem, plain_name
from diffmg.tasks.problem import Problem
from diffmg.training import Quiet, Watch
from diffmg.tuning import chosen, tune, write_tuned


def carry_out(
    table: Reproduction,
    folder: Path,
    *,
    device: str = "auto",
    seed: int = 0,
    root: Path | None = None,
    jobs: int = 1,
    watch: Callable[[str, str], Watch] = lambda _name, _metric: Quiet(),
) -> Iterator[tuple[Method, str, Run]]:
    """Do what is not done yet, so many `jobs` at a time, each in a process of its own if there are several.

    Yields every run with its method and data set, as soon as it is there. With a single job, `watch` is asked, for
    what begins and its metric, who is told how it goes.
    """
    _opened.cache_clear()
    cells = [(method, data) for data in table.data for method in table.methods]
    missing = _unchosen(table, cells)
    frame = _Frame(table, folder, seed, device, root)
    rows = []
    for method, data in cells:
        anew = table.choice(method, data) in missing
        left = [s for s in frame.seeds(method) if anew or not _done(frame.path(method, data, s))]
        if left:
            _check(frame.plan(method, data, seed), _opened(data, root))
        rows.append((method, data, left))
    makers = {place: f"settings of {method.name} on {data}" for place, (method, data) in missing.items()}
    tasks = [Task(makers[place], partial(_choose, frame, *cell)) for place, cell in missing.items()]
    waiting = {}
    for method, data, left in rows:
        if not left:
            yield method, data, frame.run(method, data)
        place = table.choice(method, data)
        after = None if place is None else makers.get(place)
        for s in left:
            name = f"{method.name} on {data}" + (f", seed {s}" if s != seed else "")
            waiting[name] = method, data
            tasks.append(Task(name, partial(_run, frame, method, data, s), after))
    for name in do_all(tasks, jobs, watch):
        if name in waiting:
            method, data = waiting.pop(name)
            if (method, data) not in waiting.values():
                yield method, data, frame.run(method, data)


@dataclass(frozen=True)
class _Frame:
    """What all tasks of a table share."""

    table: Reproduction
    folder: Path
    seed: int
    device: str
    root: Path | None

    def plan(self, method: Method, data: str, seed: int) -> Plan:
        return self.table.plan(method, data, seed, self.device)

    def path(self, method: Method, data: str, seed: int) -> Path:
        return folder_of(self.folder, method.name, self.plan(method, data, seed), timed=self.table.timed)

    def seeds(self, method: Method) -> range:
        """One for each run of a row."""
        return range(self.seed, self.seed + (method.pipelines or self.table.pipelines))

    def run(self, method: Method, data: str) -> Run:
        """The runs of a row as one."""
        runs = [read_run(self.path(method, data, seed)) for seed in self.seeds(method)]
        searched, trained = (sum((getattr(r, name) for r in runs), ()) for name in ("candidates", "trained"))
        devices = " and ".join(dict.fromkeys(r.device for r in runs))
        return replace(runs[0], candidates=searched, trained=trained, device=devices)


def folder_of(folder: Path, method: str, plan: Plan, *, timed: bool = False) -> Path:
    """The run folder of a method's plan: another plan is another run, on any device; a timed one is its own."""
    decisive = {name: value for name, value in plan.to_dict().items() if name not in ("device", "engine")}
    mark = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]
    return folder / f"{method}-{plain_name(plan.data)}-{mark}{'-timed' if timed else ''}"


def done_runs(table: Reproduction, folder: Path, seed: int = 0) -> dict[tuple[str, str], Run]:
    """The runs of a table that are done, by method and data set."""
    frame = _Frame(table, folder, seed, "auto", None)
    return {
        (method.name, data): frame.run(method, data)
        for method in table.methods
        for data in table.data
        if all(_done(frame.path(method, data, s)) for s in frame.seeds(method))
    }


def _unchosen(table: Reproduction, cells: Sequence[tuple[Method, str]]) -> dict[Path, tuple[Method, str]]:
    """Files of chosen settings that are not there yet, each with the row it is for."""
    missing: dict[Path, tuple[Method, str]] = {}
    owners = {table.choice(method, data): (method, data) for method, data in cells if not method.tuned_as}
    for method, data in cells:
        place = table.choice(method, data)
        if place is None or place.exists():
            continue
        if place not in owners:
            raise DiffmgError(
                f"method {method.name!r} takes the settings chosen for {method.tuned_as!r}, but got no file "
                f"{str(place)!r}, nor that method to choose them with"
            )
        missing[place] = owners[place]
    return missing


def _check(plan: Plan, problem: Problem) -> None:
    """Raise before anything is trained if a method cannot be made or cannot do the task."""
    if plan.baseline:
        make_baseline(plan.baseline, plan.baseline_options).check(problem, plan.train)
    else:
        make_strategy(plan.strategy, plan.strategy_options)


def _done(path: Path) -> bool:
    return (path / RUN).exists() and read_run(path).status == "done"


@lru_cache(maxsize=6)
def _opened(data: str, root: Path | None) -> Problem:
    return open_problem(data, root=root)


def _choose(frame: _Frame, method: Method, data: str, watch: Watching) -> None:
    """Choose the settings of a row and keep them."""
    plan, place = method.plan(data, 1, frame.seed, frame.device), frame.table.choice(method, data)
    assert place is not None, "only rows that are tuned have settings to choose"
    problem = _opened(data, frame.root).to(resolve_device(plan.device), plan.engine)
    trials = tune(problem, plan, frame.table.tuning, watch(problem.task.metric))
    make_folder(place.parent)
    write_tuned(place, chosen(trials, plan, frame.table.tuning))


def _run(frame: _Frame, method: Method, data: str, seed: int, watch: Watching) -> None:
    """Carry out the plan of a row; one that was stopped goes on."""
    problem, path = _opened(data, frame.root), frame.path(method, data, seed)
    place = RunFolder.unfinished(path) if (path / RUN).exists() else RunFolder.create(path)
    Experiment(frame.plan(method, data, seed), problem, place, watch(problem.task.metric)).execute()
