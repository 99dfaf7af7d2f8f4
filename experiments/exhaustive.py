"""`python -m experiments exhaustive DATA --depth K`: train every distinct program of a space, for real.

Programs are trained in chunks, each written to a file of its own, so a call may be stopped or limited and given again.
When all are done, the best tenth is trained from a second seed, and one Parquet file holds the table. Only validation
scores are computed.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Source
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.engine.device import describe_device
from diffmg.race.executor import Executor, Local
from diffmg.runs.provenance import data_of
from diffmg.tasks.problem import Problem
from experiments import RESULTS
from experiments.exhaustive_parts import CHUNK, Line, Parts, Work, best_tenth
from experiments.exhaustive_programs import Programs
from experiments.exhaustive_table import ExhaustiveTable, Row, write_table
from experiments.trained import add_places, note, opened, published_settings, run_command

EXHAUSTIVE = RESULTS / "exhaustive"
UNFINISHED = "unfinished"
"""Folder of part files, beside the table; git ignores it."""
MOST = 20_000
"""Programs that are all trained; of more, a sample."""


def make_work(
    problem: Problem, settings: Settings, depth: int, *, seed: int = 0, sample: int | None = None, sample_seed: int = 0
) -> Work:
    """The programs of one depth; raises where there are too many and no sample is asked for."""
    schema, targets = problem.graph.schema, problem.task.target_types
    programs = Programs(tuple(SearchSpace.dag(schema, t, depth) for t in targets))
    if sample is None and programs.size > MOST:
        raise DiffmgError(
            f"a full table has at most {MOST} programs, but got {programs.size} of depth {depth}; use --sample {MOST}"
        )
    numbers = range(programs.size) if sample is None else programs.sample(sample, sample_seed)
    return Work(problem, settings, programs, tuple(numbers), seed)


def tabulate(
    work: Work,
    path: Path,
    *,
    limit: int | None = None,
    executor: Executor | None = None,
    chunk: int = CHUNK,
    command: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> ExhaustiveTable | None:
    """Train what is missing, at most `limit` programs, and write the table; None as long as programs are missing."""
    parts = Parts(work, path.parent / UNFINISHED / f"{path.stem}-{work.mark()}", executor or Local(), chunk, limit, say)
    try:
        first = parts.lines("first", work.numbers, work.seed)
        if first is None:
            return None
        second = parts.lines("second", best_tenth(first, work.problem.task.sign), work.seed + 1)
    finally:
        parts.executor.close()
    if second is None:
        return None
    scores = {line["number"]: line["score"] for line in second}
    rows = tuple(_row(work.programs, line, scores.get(line["number"])) for line in first)
    table = ExhaustiveTable(rows, _about(work, command))
    write_table(path, table)
    return table


def _row(programs: Programs, line: Line, second: float | None) -> Row:
    n = line["number"]
    score, loss, again = (math.nan if x is None else x for x in (line["score"], line["loss"], second))
    return Row(programs.key(n), programs.picks(n), programs.count(n), score, loss, line["best_epoch"], again)


def _about(work: Work, command: str) -> Line:
    problem, task = work.problem, work.problem.task
    return {
        "data": Source(problem.source.name).label if problem.source.name else "made",
        "data_hash": data_of(problem).hash,
        "depth": work.depth,
        "targets": list(task.target_types),
        "node_types": list(problem.graph.schema.node_types),
        "relations": [list(r.triple) for r in problem.graph.schema.relations],
        "programs": work.programs.size,
        "metagraphs": work.programs.metagraph_count,
        "metric": task.metric,
        "sign": task.sign,
        "validation_examples": task.size("val"),
        "settings": asdict(work.settings),
        "seeds": [work.seed, work.seed + 1],
        "device": describe_device(problem.graph.device),
        "command": command,
    }


def main(arguments: Sequence[str]) -> int:
    """Train what is missing of a table; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    given = _parser().parse_args(arguments)
    problem = opened(given.data, given.device, given.data_root)
    seeds = {"seed": given.seed, "sample": given.sample, "sample_seed": given.sample_seed}
    work = make_work(problem, published_settings(given.data), given.depth, **seeds)
    size = f"{work.programs.metagraph_count} meta graphs of depth {given.depth}, {work.programs.size} programs"
    if given.count:
        return f"{given.data}: {size}"
    path = given.out / f"{Source(given.data).label}-depth{given.depth}.parquet"
    command = " ".join(["python -m experiments exhaustive", *_repeatable(given)])
    table = tabulate(work, path, limit=given.limit, command=command, say=note)
    if table is None:
        return f"{given.data}: {size}; not all are trained yet, give the command again"
    best = f"best validation {table.about['metric']} {100 * table.best.score:.2f} %"
    return f"{given.data}: {size}; {best}; written to {path}"


def _repeatable(given: Any) -> list[str]:
    """The words that decide the table, without places."""
    words = [given.data, "--depth", str(given.depth), "--seed", str(given.seed)]
    return words if given.sample is None else [*words, f"--sample {given.sample} --sample-seed {given.sample_seed}"]


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m experiments exhaustive", description="Train every distinct program of a space.")
    parser.add_argument("data", help="a data set, such as acm")
    parser.add_argument("--depth", type=int, default=2, help="states of a meta graph")
    parser.add_argument("--seed", type=int, default=0, help="of all trainings; the best tenth is trained from the next")
    parser.add_argument(
        "--limit", type=int, help="most programs to train in this call; give the command again for more"
    )
    parser.add_argument("--sample", type=int, help="train so many programs, drawn uniformly, instead of all")
    parser.add_argument("--sample-seed", type=int, default=0)
    parser.add_argument("--count", action="store_true", help="only say how many there are")
    add_places(parser, EXHAUSTIVE)
    return parser
