"""Running a table: missing settings are tuned, then every row is run on every data set.

What is there already, chosen settings and finished runs, is not done again; a run that was stopped goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from diffmg.core.run import RUN, Run, read_history, read_run
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import check_same_data, place, run
from diffmg.runs.sources import open_problem
from diffmg.tasks.problem import Problem
from diffmg.training import Quiet, Watch
from experiments.parallel import MakeWatch, Task, do_all
from experiments.results import Cell, Key, Results, StoredRun, mark_of
from experiments.spec import Row, Table
from experiments.tuned import Tuned, add_tuned
from experiments.tuning import chosen, tune

UNFINISHED = "unfinished"
"""Folder of unfinished runs."""


def run_table(
    table: Table,
    folder: Path,
    *,
    device: str = "auto",
    seed: int = 0,
    root: Path | None = None,
    jobs: int = 1,
    watch: Callable[[str, str], Watch] = lambda _name, _metric: Quiet(),
) -> Iterator[tuple[Row, str, Cell]]:
    """Run what is missing, `jobs` at a time, in separate processes if more than one.

    Yields every row on every data set, as soon as all its runs are there. With a single job, `watch` is asked, for what
    begins and its metric, who is told how it goes.
    """
    _opened.cache_clear()
    work, results, tunings = _Work(table, folder, seed, device, root), Results(folder), _tunings(table)
    missing = _missing(work, results, tunings)
    waiting = [(row.name, data) for row, data, _ in missing.values()]
    for row, data in work.cells:
        if (row.name, data) not in waiting:
            yield row, data, work.cell(results, row, data)
    tasks = [Task(name, partial(_tune, work, *cell)) for cell, name in tunings.values()]
    for name, (row, data, s) in missing.items():
        tasks.append(Task(name, partial(_run, work, row, data, s), _tuned_by(table, tunings, row, data)))
    for name, result in do_all(tasks, jobs, watch):
        if isinstance(result, Tuned):
            add_tuned(Path(table.tuned), result)
            continue
        row, data, s = missing[name]
        results.add(work.key(row, data, s), work.stored(row, data, s))
        shutil.rmtree(work.folder(row, data, s))
        waiting.remove((row.name, data))
        if (row.name, data) not in waiting:
            yield row, data, work.cell(results, row, data)


def done_cells(table: Table, folder: Path, seed: int = 0) -> dict[tuple[str, str], Cell]:
    """The finished runs of a table, by row and data set."""
    work, results = _Work(table, folder, seed, "auto", None), Results(folder)
    found = {(row.name, data): results.cell(work.keys(row, data)) for row in table.methods for data in table.data}
    return {where: cell for where, cell in found.items() if cell is not None}


@dataclass(frozen=True)
class _Work:
    """Context shared by all tasks of a table."""

    table: Table
    out: Path
    seed: int
    device: str
    root: Path | None

    @property
    def cells(self) -> list[tuple[Row, str]]:
        return [(row, data) for data in self.table.data for row in self.table.methods]

    def plan(self, row: Row, data: str, seed: int) -> Plan:
        return self.table.plan(row, data, seed, self.device)

    def key(self, row: Row, data: str, seed: int) -> Key:
        return Key(row.name, data, self.table.timed, mark_of(self.plan(row, data, seed)))

    def keys(self, row: Row, data: str) -> list[Key]:
        return [self.key(row, data, seed) for seed in self.table.run_seeds(row, self.seed)]

    def folder(self, row: Row, data: str, seed: int) -> Path:
        """Of a run that is going on."""
        plan = self.plan(row, data, seed)
        name = f"{row.name}-{plan.source.label}-{mark_of(plan)}{'-timed' if self.table.timed else ''}"
        return self.out / UNFINISHED / name

    def cell(self, results: Results, row: Row, data: str) -> Cell:
        return Cell(tuple(results[key] for key in self.keys(row, data)))

    def stored(self, row: Row, data: str, seed: int) -> StoredRun:
        """The stored result of a run that has just finished."""
        folder = self.folder(row, data, seed)
        done = read_run(folder)
        return StoredRun(done, _drawn_history(done, folder) if self.table.kind == "curves" else {})

    def check(self, row: Row, data: str) -> None:
        """Raise before anything is trained if a method cannot be built or does not support the task."""
        plan = self.plan(row, data, self.seed)
        plan.method.make().check(_opened(data, self.root), plan.settings)


_Tunings = dict[tuple[str, str], tuple[tuple[Row, str], str]]
"""Settings to tune: by row and data set, what is tuned, and the name of the task."""


def _tunings(table: Table) -> _Tunings:
    rows = {row.name: row for row in table.methods if not row.tuned_as}
    found: _Tunings = {}
    for data in table.data:
        for row in table.methods:
            owner = row.tuned_as or row.name
            if not table.is_tuned(row) or table.choice(row, data) is not None:
                continue
            if owner not in rows:
                raise DiffmgError(
                    f"row {row.name!r} takes the settings chosen for {owner!r} on {data}, but got none in "
                    f"{table.tuned!r}, nor that row to choose them with"
                )
            found[owner, data] = (rows[owner], data), f"settings of {owner} on {data}"
    return found


def _tuned_by(table: Table, tunings: _Tunings, row: Row, data: str) -> str | None:
    """The task that tunes the settings of a row, if any."""
    return tunings.get((row.tuned_as or row.name, data), (None, None))[1] if table.is_tuned(row) else None


def _missing(work: _Work, results: Results, tunings: _Tunings) -> dict[str, tuple[Row, str, int]]:
    """The missing runs, by name; raises if one of them is impossible."""
    found = {}
    for row, data in work.cells:
        untuned = _tuned_by(work.table, tunings, row, data) is not None
        for seed in work.table.run_seeds(row, work.seed):
            if untuned or work.key(row, data, seed) not in results:
                work.check(row, data)
                found[f"{row.name} on {data}" + (f", seed {seed}" if seed != work.seed else "")] = row, data, seed
    return found


def _tune(work: _Work, row: Row, data: str, watch: MakeWatch) -> Tuned:
    """Tune the settings of a row."""
    plan = work.table.untuned_plan(row, data, work.seed, work.device)
    plan, problem = place(plan, _opened(data, work.root), plan.method.make())
    trials = tune(problem, plan, work.table.tuning, watch(problem.task.metric))
    return chosen(trials, plan, work.table.tuning, row.name)


def _run(work: _Work, row: Row, data: str, seed: int, watch: MakeWatch) -> None:
    """Run a row in its folder, resuming an interrupted run."""
    problem, path = _opened(data, work.root), work.folder(row, data, seed)
    if not (path / RUN).exists():
        store = RunFolder.create(path)
    elif (begun := read_run(path)).status == "done":
        return
    else:
        check_same_data(begun, problem)
        store = RunFolder.unfinished(path)
    run(work.plan(row, data, seed), problem, store, watch(problem.task.metric))


@lru_cache(maxsize=6)
def _opened(data: str, root: Path | None) -> Problem:
    return open_problem(data, root=root)


def _drawn_history(done: Run, folder: Path) -> dict[str, tuple[float, ...]]:
    """Validation scores of the training with the median duration.

    Of several, the first one in a process is slower than the others by what is compiled only once.
    """
    trainings: dict[str, list[float]] = {}
    for record in read_history(folder):
        if not record["phase"].startswith("search"):
            trainings.setdefault(record["phase"], []).append(record["val_score"])
    phase = sorted(trainings, key=lambda phase: done.seconds[phase])[(len(trainings) - 1) // 2]
    return {phase: tuple(trainings[phase])}
