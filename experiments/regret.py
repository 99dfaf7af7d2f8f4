"""`python -m experiments regret TABLE...`: how far searches stay behind the best program of an exhaustive table.

A training is a look-up, so a search is replayed from many seeds in seconds. A search of one's own is a function of a
`Replay`, a seed and a batch size; `regret_lines` takes it beside, or in place of, those of `SEARCHES`.
"""

from __future__ import annotations

import statistics
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffmg.core.errors import DiffmgError
from experiments import RESULTS
from experiments.exhaustive_table import ExhaustiveTable, read_table
from experiments.jsonl import read_lines, write_lines
from experiments.regret_searches import SEARCHES, Replay, Search
from experiments.steady import checked_names
from experiments.tables import MISSING, Sheet
from experiments.trained import run_command

REGRET = "regret.jsonl"
MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Numbers of trainings after which the regret is told."""
Line = dict[str, Any]


def regret_lines(
    table: ExhaustiveTable, searches: Mapping[str, Search], *, seeds: int, trainings: int, batch: int
) -> list[Line]:
    """The regret of every search from every seed, after 1, 2, 5, ... trainings."""
    if not table.complete:
        raise DiffmgError(f"a regret needs all programs, but got a sample of {len(table.rows)} in {table.name}")
    return [
        {"table": table.name, "search": name, "seed": seed, "batch": batch, "trainings": trainings, **replayed}
        for name, search in searches.items()
        for seed in range(seeds)
        for replayed in [_replayed(table, search, seed, trainings, batch)]
    ]


def _replayed(table: ExhaustiveTable, search: Search, seed: int, trainings: int, batch: int) -> Line:
    replay = Replay(table, trainings)
    search(replay, seed, batch)
    curve = replay.curve()
    marks = [m for m in MARKS if m <= trainings]
    return {"used": len(curve), "regret": {str(m): round(curve[min(m, len(curve)) - 1], 6) for m in marks}}


def regret_sheet(lines: Iterable[Line]) -> Sheet:
    """Mean regret and its 10 % and 90 % quantiles over seeds, by trainings; of one table."""
    by_search: dict[str, list[Line]] = {}
    for line in lines:
        by_search.setdefault(line["search"], []).append(line)
    name = next((line["table"] for several in by_search.values() for line in several), "")
    marks = [str(m) for m in MARKS if any(str(m) in line["regret"] for s in by_search.values() for line in s)]
    rows = tuple((search, *(_cell(several, mark) for mark in marks)) for search, several in by_search.items())
    seeds = max((len(several) for several in by_search.values()), default=0)
    note = f"percentage points behind the best program: mean (10 % to 90 % of {seeds} seeds)"
    return Sheet(f"Regret on {name} by number of trainings", ("search", *marks), rows, (note,))


def mean_curves(lines: Iterable[Line]) -> dict[str, list[tuple[float, float]]]:
    """For each search, trainings and mean regret in percentage points."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        for mark, regret in line["regret"].items():
            found.setdefault(line["search"], {}).setdefault(mark, []).append(100 * regret)
    return {name: [(float(m), statistics.fmean(v)) for m, v in marks.items()] for name, marks in found.items()}


def table_line(table: ExhaustiveTable, size: int) -> Line:
    """What a table holds: scores of its programs, and how much of them is the seed's."""
    scores = [table.sign * row.score for row in table.rows if np.isfinite(row.score)]
    pairs = [(row.score, row.second) for row in table.rows if np.isfinite(row.second)]
    noise = statistics.pstdev(one - two for one, two in pairs) / 2**0.5 if len(pairs) > 1 else None
    again = max(pairs, key=lambda pair: table.sign * pair[1])[0] if pairs else None
    about = {name: table.about[name] for name in ("metagraphs", "programs", "metric", "device", "command")}
    low, median, high = (float(q) for q in np.quantile(scores, (0.1, 0.5, 0.9)))
    quantiles = {"low": low, "median": median, "high": high, "best": table.sign * table.best.score}
    return {"table": table.name, **about, "rows": len(table.rows), **quantiles, "noise": noise,
            "best_by_second": again, "bytes": size}  # fmt: skip


def _cell(lines: Sequence[Line], mark: str) -> str:
    values = [100 * line["regret"][mark] for line in lines if mark in line["regret"]]
    if not values:
        return MISSING
    low, high = np.quantile(values, (0.1, 0.9))
    return f"{statistics.fmean(values):.2f} ({low:.2f} to {high:.2f})"


def main(arguments: Sequence[str]) -> int:
    """Replay searches on tables; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    given = _parser().parse_args(arguments)
    searches = {name: SEARCHES[name] for name in checked_names("search", given.searches, SEARCHES)}
    path, texts = given.out / REGRET, []
    for file in given.tables:
        table = read_table(file)
        options = {"seeds": given.seeds, "trainings": given.trainings, "batch": given.batch}
        lines = [{"kind": "replay", **line} for line in regret_lines(table, searches, **options)]
        about = {"kind": "table", **table_line(table, file.stat().st_size)}
        kept = [line for line in read_lines(path) if not _replaced(line, table.name, searches)]
        write_lines(path, [*kept, about, *lines])
        texts.append(regret_sheet(lines).markdown())
    return "\n".join(texts)


def _replaced(line: Line, table: str, searches: Mapping[str, Search]) -> bool:
    return bool(line["table"] == table and (line["kind"] == "table" or line["search"] in searches))


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m experiments regret", description="Replay searches on exhaustive tables.")
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE", help="a Parquet file of `exhaustive`")
    parser.add_argument("--searches", nargs="+", default=[], help=", ".join(SEARCHES))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trainings", type=int, default=100)
    parser.add_argument("--batch", type=int, default=4, help="candidates that are proposed at once")
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"folder of {REGRET}")
    return parser
