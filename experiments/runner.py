"""Running a table: every row on every data set. Finished runs are not done again; a run that was stopped goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from diffmg.core.plan import Plan
from diffmg.core.run import RUN, Run, read_history, read_run
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import check_same_data, place, run
from diffmg.runs.sources import open_problem
from diffmg.tasks.problem import Problem
from diffmg.training import Quiet, Watch
from experiments.cells import Cell, StoredRun
from experiments.parallel import MakeWatch, Task, do_all
from experiments.ranking import ranking_of
from experiments.rel_f1 import rel_f1_problem
from experiments.results import Key, Results, mark_of
from experiments.spec import Kind, Row, Table
from experiments.votes import Votes, add_votes, votes_of

UNFINISHED = "unfinished"
"""Folder of unfinished runs."""
SAVE_EVERY = 30.0
"""Seconds between checkpoints: those of a race are large."""


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
    work, results = _Work(table, folder, seed, device, root), Results(folder)
    missing = _missing(work, results)
    waiting = [(row.name, data) for row, data, _ in missing.values()]
    for row, data in table.cells:
        if (row.name, data) not in waiting:
            yield row, data, work.cell(results, row, data)
    tasks = [Task(name, partial(_run, work, *what)) for name, what in missing.items()]
    for name, votes in do_all(tasks, jobs, watch):
        row, data, s = missing[name]
        add_votes(folder, {work.key(row, data, s): votes})
        results.add(work.key(row, data, s), work.stored(row, data, s))
        shutil.rmtree(work.folder(row, data, s))
        waiting.remove((row.name, data))
        if (row.name, data) not in waiting:
            yield row, data, work.cell(results, row, data)


def done_cells(table: Table, folder: Path, seed: int = 0) -> dict[tuple[str, str], Cell]:
    """The finished runs of a table, by row and data set."""
    results = Results(folder)
    found = {(row.name, data): results.cell(cell_keys(table, row, data, seed)) for row, data in table.cells}
    return {where: cell for where, cell in found.items() if cell is not None}


def cell_keys(table: Table, row: Row, data: str, seed: int = 0) -> list[Key]:
    """The keys of a row's runs on a data set, by seed."""
    plans = (table.plan(row, data, number, "auto") for number in table.run_seeds(row, seed))
    return [Key(row.name, data, table.timed, mark_of(plan)) for plan in plans]


@dataclass(frozen=True)
class _Work:
    """Context shared by all tasks of a table."""

    table: Table
    out: Path
    seed: int
    device: str
    root: Path | None

    def plan(self, row: Row, data: str, seed: int) -> Plan:
        return self.table.plan(row, data, seed, self.device)

    def key(self, row: Row, data: str, seed: int) -> Key:
        return Key(row.name, data, self.table.timed, mark_of(self.plan(row, data, seed)))

    def folder(self, row: Row, data: str, seed: int) -> Path:
        """Of a run that is going on."""
        plan = self.plan(row, data, seed)
        name = f"{row.name}-{plan.source.label}-{mark_of(plan)}{'-timed' if self.table.timed else ''}"
        return self.out / UNFINISHED / name

    def cell(self, results: Results, row: Row, data: str) -> Cell:
        return Cell(tuple(results[key] for key in cell_keys(self.table, row, data, self.seed)))

    def stored(self, row: Row, data: str, seed: int) -> StoredRun:
        """The stored result of a run that has just finished."""
        folder = self.folder(row, data, seed)
        done = read_run(folder)
        return StoredRun(done, _drawn_history(done, folder) if self.table.kind == "curves" else {})

    def check(self, row: Row, data: str) -> None:
        """Raise before anything is trained if a method cannot be built or does not support the task."""
        plan = self.plan(row, data, self.seed)
        plan.method.make().check(_opened(data, self.root, self.table.kind), plan.settings)


def _missing(work: _Work, results: Results) -> dict[str, tuple[Row, str, int]]:
    """The missing runs, by name; raises if one of them is impossible."""
    found = {}
    for row, data in work.table.cells:
        for seed in work.table.run_seeds(row, work.seed):
            if work.key(row, data, seed) not in results:
                work.check(row, data)
                found[f"{row.name} on {data}" + (f", seed {seed}" if seed != work.seed else "")] = row, data, seed
    return found


def _run(work: _Work, row: Row, data: str, seed: int, watch: MakeWatch) -> Votes:
    """Run a row in its folder, resuming an interrupted run; returns its votes, if the table needs them."""
    problem, path = _opened(data, work.root, work.table.kind), work.folder(row, data, seed)
    plan = work.plan(row, data, seed)
    if not (path / RUN).exists():
        run(plan, problem, RunFolder.create(path, SAVE_EVERY), watch(problem.task.metric))
    elif (begun := read_run(path)).status != "done":
        check_same_data(begun, problem)
        run(plan, problem, RunFolder.unfinished(path, SAVE_EVERY), watch(problem.task.metric))
    if work.table.kind != "search":
        return {}
    return votes_of(read_run(path), path, place(plan, problem, plan.method.make())[1])


@lru_cache(maxsize=6)
def _opened(data: str, root: Path | None, kind: Kind) -> Problem:
    if kind == "predictions":
        return rel_f1_problem(data, root)
    return ranking_of(open_problem(data, root=root)) if kind == "ranking" else open_problem(data, root=root)


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
