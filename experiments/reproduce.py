"""`python -m experiments reproduce TABLE`: run a part of a table on a machine where little is installed.

It does what `python -m experiments TABLE` does, without progress bars and pages; `merge` adds what it wrote to the
results.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from diffmg.training import Quiet
from experiments import RESULTS, TABLES, plan_path
from experiments.documents import Done, table_text
from experiments.runner import run_table
from experiments.spec import read_table
from experiments.trained import run_command


def main(arguments: Sequence[str]) -> int:
    """Run what is missing and print the table; returns the exit code, as that of the other commands."""
    return run_command(lambda words: reproduce(_parser().parse_args(words)), arguments)


def reproduce(given: Namespace) -> str:
    """Run a part of a table; what is done already is kept."""
    table = read_table(given.plan or plan_path(given.table)).part(given.data, given.methods, given.seeds)
    where = {"device": given.device, "seed": given.seed, "root": given.data_root, "jobs": given.jobs}
    cells, begun = {}, time.monotonic()
    for row, data, cell in run_table(table, given.out, watch=partial(_begin, begun), **where):
        cells[row.name, data] = cell
        print(f"{row.name} on {data}: {100 * cell.mean:.2f}", file=sys.stderr, flush=True)
    return table_text(Done(table, cells), given.out)


def _begin(begun: float, what: str, _metric: str) -> Quiet:
    print(f"{time.monotonic() - begun:.0f} s: {what}", file=sys.stderr, flush=True)
    return Quiet()


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m experiments reproduce", description="Run a part of a table.")
    parser.add_argument("table", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    for name, what in (("data", "data sets"), ("methods", "methods")):
        parser.add_argument(f"--{name}", nargs="+", default=[], help=f"only these {what}")
    parser.add_argument("--seeds", type=int, help="trainings of each method, or whole pipelines")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    for name, what in (("plan", "the plan file"), ("data-root", "where the data lie")):
        parser.add_argument(f"--{name}", type=Path, help=what)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of runs.jsonl; what is done there is kept")
    return parser
