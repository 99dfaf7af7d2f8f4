"""The check before a release: runs match their plans, pages are up to date, claims hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.documents import update
from diffmg.core.plan import Plan
from diffmg.core.run import Run
from experiments import RESULTS, ROOT
from experiments.claims import CLAIMS, Scores, unfounded
from experiments.documents import PAGES, Done, done_tables, wanted
from experiments.results import Results, mark_of
from experiments.spec import Row


def problems(root: Path = ROOT, folder: Path = RESULTS) -> Iterator[str]:
    """All problems found."""
    results, done = Results(folder), done_tables(folder)
    for key, stored in results.items():
        if mark_of(stored.run.plan) != key.mark:
            yield f"the run of {key.method} on {key.data} has mark {key.mark}, which is not that of its plan"
    yield from (words for name, found in done.items() for words in faults(name, found))
    for path in update(wanted(root, done, folder), check=True):
        yield f"{path.relative_to(root)} is not up to date; run: python -m experiments render"
    text = " ".join((root / page).read_text(encoding="utf-8") for page in PAGES)
    yield from unfounded(text, Scores(done), CLAIMS)


def faults(name: str, done: Done) -> Iterator[str]:
    """Runs that do not match the plans of a table."""
    for row, data in done.table.cells:
        cell = done.cells.get((row.name, data))
        if cell is not None and not (all(map(_is_whole, cell.runs)) and _as_planned(done, row, data, cell.runs)):
            yield f"table {name} has a run of {row.name} on {data} that is not of its plan"


def not_run_yet(folder: Path = RESULTS) -> Iterator[str]:
    """Rows of tables that lack runs: no fault, since pages show them so."""
    for name, done in done_tables(folder).items():
        for row, data in done.table.cells:
            cell, wanted_runs = done.cells.get((row.name, data)), len(done.table.run_seeds(row))
            there = 0 if cell is None else len(cell.runs)
            if there < wanted_runs:
                yield f"table {name}: {there} of {wanted_runs} runs of {row.name} on {data}"


def _is_whole(run: Run) -> bool:
    return run.status == "done" and len(run.trained) == run.plan.repeats


def _as_planned(done: Done, row: Row, data: str, runs: tuple[Run, ...]) -> bool:
    planned = [done.table.plan(row, data, seed, "auto") for seed in done.table.run_seeds(row)]
    known = [_decisive(plan) for plan in planned]
    return all(_decisive(run.plan) in known for run in runs)


def _decisive(plan: Plan) -> Plan:
    """A plan in normal form, without what depends on the machine: device, engine, batches of a race against time."""
    timed = plan.budget is not None and plan.budget.seconds is not None
    method, engine = plan.method.make().spec(), Plan(plan.method).engine
    return replace(plan, method=method, device="auto", engine=engine, batch=None if timed else plan.batch)
