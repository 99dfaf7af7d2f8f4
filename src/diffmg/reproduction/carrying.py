"""Carrying a table out: settings chosen where there are none yet, then a run folder per method and data set.

What is there already, chosen settings and finished runs, is not done again; a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

import torch

from diffmg.baselines import make_baseline
from diffmg.device import resolve_device
from diffmg.errors import DiffmgError
from diffmg.experiment import Experiment
from diffmg.files import make_folder
from diffmg.folder import RunFolder
from diffmg.plan import Plan
from diffmg.reproduction.spec import Method, Reproduction, plain_name
from diffmg.run import RUN, Run, read_run
from diffmg.sources import open_problem
from diffmg.strategies import make_strategy
from diffmg.train import Problem, Quiet, Watch
from diffmg.tuning import chosen, tune, write_tuned

Told = Callable[[str, str], Watch]
"""From what begins and its metric to who is told how it goes."""


def carry_out(
    table: Reproduction,
    folder: Path,
    *,
    device: str = "auto",
    seed: int = 0,
    root: Path | None = None,
    jobs: int = 1,
    watch: Told = lambda _name, _metric: Quiet(),
) -> Iterator[tuple[Method, str, Run]]:
    """Do what is not done yet, so many `jobs` at a time, each in a process of its own if there are several.

    Yields every run with its method and data set, as soon as it is there. `watch` is for a single job.
    """
    _opened.cache_clear()
    cells = [(method, data) for data in table.data for method in table.methods]
    missing = _unchosen(table, cells)
    for method, data in cells:
        plan = table.plan(method, data, seed, device)
        if table.choice(method, data) in missing or not _done(folder_of(folder, method.name, plan)):
            _check(plan, _opened(data, root))
    frame = _Frame(table, folder, seed, device, root)
    tasks = [_Task(f"settings of {m.name} on {d}", _choose, frame, m, d) for m, d in missing.values()]
    makers = {place: task.name for place, task in zip(missing, tasks, strict=True)}
    for method, data in cells:
        place = table.choice(method, data)
        if place not in missing and _done(frame.path(method, data)):
            yield method, data, read_run(frame.path(method, data))
        else:
            after = makers.get(place) if place is not None else None
            tasks.append(_Task(f"{method.name} on {data}", _run, frame, method, data, after))
    for task in _one_by_one(tasks, watch) if jobs == 1 else _side_by_side(tasks, jobs):
        if task.work is _run:
            yield task.method, task.data, read_run(frame.path(task.method, task.data))


def _quietly(_metric: str) -> Watch:
    return Quiet()


@dataclass(frozen=True)
class _Frame:
    """What all tasks of a table share."""

    table: Reproduction
    folder: Path
    seed: int
    device: str
    root: Path | None

    def plan(self, method: Method, data: str) -> Plan:
        return self.table.plan(method, data, self.seed, self.device)

    def path(self, method: Method, data: str) -> Path:
        return folder_of(self.folder, method.name, self.plan(method, data))


@dataclass(frozen=True)
class _Task:
    """Something to do for a row, in this process or another."""

    name: str
    work: Callable[[_Frame, Method, str, Callable[[str], Watch]], None]
    frame: _Frame
    method: Method
    data: str
    after: str | None = None
    """The task that must be done before."""

    def __call__(self, watch: Callable[[str], Watch] = _quietly) -> None:
        self.work(self.frame, self.method, self.data, watch)


def folder_of(folder: Path, method: str, plan: Plan) -> Path:
    """The run folder of a method's plan: another plan is another run, on whatever device."""
    decisive = {name: value for name, value in plan.to_dict().items() if name not in ("device", "engine")}
    mark = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]
    return folder / f"{method}-{plain_name(plan.data)}-{mark}"


def done_runs(table: Reproduction, folder: Path, seed: int = 0) -> dict[tuple[str, str], Run]:
    """The runs of a table that are done, by method and data set."""
    found = {}
    for method in table.methods:
        for data in table.data:
            path = folder_of(folder, method.name, table.plan(method, data, seed, "auto"))
            if _done(path):
                found[method.name, data] = read_run(path)
    return found


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
        make_baseline(plan.baseline, plan.baseline_options).check(problem)
    else:
        make_strategy(plan.strategy, plan.strategy_options)


def _done(path: Path) -> bool:
    return (path / RUN).exists() and read_run(path).status == "done"


@lru_cache(maxsize=6)
def _opened(data: str, root: Path | None) -> Problem:
    return open_problem(data, root=root)


def _one_by_one(tasks: Sequence[_Task], watch: Told) -> Iterator[_Task]:
    """Do the tasks in this process; yields each when it is done."""
    for task in tasks:
        task(partial(watch, task.name))
        yield task


def _side_by_side(tasks: Sequence[_Task], jobs: int) -> Iterator[_Task]:
    """Do the tasks in processes of their own; one that fails stops only what comes after it."""
    failed: dict[str, BaseException] = {}
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_share_cores, initargs=(jobs,))
    try:
        running = {pool.submit(task): task for task in tasks if task.after is None}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, error = running.pop(future), future.exception()
                if error is None:
                    running |= {pool.submit(t): t for t in tasks if t.after == task.name}
                    yield task
                else:
                    failed[task.name] = error
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, what has not begun is left
    if failed:
        reasons = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise DiffmgError(f"what does not need them is done and kept, but {len(failed)} failed: {reasons}")


def _share_cores(jobs: int) -> None:
    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))


def _choose(frame: _Frame, method: Method, data: str, watch: Callable[[str], Watch]) -> None:
    """Choose the settings of a row and keep them."""
    plan, place = method.plan(data, 1, frame.seed, frame.device), frame.table.choice(method, data)
    assert place is not None, "only rows that are tuned have settings to choose"
    problem = _opened(data, frame.root).to(resolve_device(plan.device), plan.engine)
    watch(problem.task.metric)
    best = chosen(tune(problem, plan, frame.table.tuning), plan, frame.table.tuning)
    make_folder(place.parent)
    write_tuned(place, best)


def _run(frame: _Frame, method: Method, data: str, watch: Callable[[str], Watch]) -> None:
    """Carry out the plan of a row; one that was stopped goes on."""
    problem, path = _opened(data, frame.root), frame.path(method, data)
    place = RunFolder.unfinished(path) if (path / RUN).exists() else RunFolder.create(path)
    Experiment(frame.plan(method, data), problem, place, watch(problem.task.metric)).execute()
