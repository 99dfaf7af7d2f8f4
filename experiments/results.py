"""Results: one JSON line per run, looked up by row, data set and plan."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.engine import Engine
from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan
from diffmg.core.run import Candidate, Run
from experiments.jsonl import read_lines, write_lines

RUNS = "runs.jsonl"


class Key(NamedTuple):
    """The look-up key of a run."""

    method: str
    """The name of the row."""
    data: str
    timed: bool
    """Whether it ran alone on the machine, so that its seconds are comparable."""
    mark: str
    """Hash of the plan: another plan is another run."""


def mark_of(plan: Plan) -> str:
    """A short hash of the plan's non-default values, except device and engine."""
    decisive = {
        "method": to_plain(plan.method.make().spec()),
        "source": _changed(plan.source),
        "settings": _changed(plan.settings),
        "repeats": plan.repeats,
        "seed": plan.seed,
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]


def _changed(value: Any) -> dict[str, Any]:
    default = type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(default, f.name)}


@dataclass(frozen=True)
class StoredRun:
    """A stored run and, for curves, the validation score of every epoch of the drawn training."""

    run: Run
    history: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By phase."""


@dataclass(frozen=True)
class Cell:
    """All runs of a row on a data set; figures are over all their trainings."""

    stored: tuple[StoredRun, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, by seed."""
        return tuple(stored.run for stored in self.stored)

    @property
    def metric(self) -> str:
        """The metric used for selection."""
        return self.runs[0].metric

    @property
    def device(self) -> str:
        """The device they ran on."""
        return " and ".join(dict.fromkeys(run.device for run in self.runs))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The results of all searches."""
        return tuple(candidate for run in self.runs for candidate in run.candidates)

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """The meta graphs of the first run."""
        return self.runs[0].metagraphs

    @property
    def test(self) -> list[float]:
        """The test score of every training."""
        return [value for run in self.runs for value in run.values("test")]

    @property
    def mean(self) -> float:
        """Mean test score."""
        return statistics.fmean(self.test) if self.test else math.nan

    @property
    def std(self) -> float:
        """Sample standard deviation of the test score; NaN for fewer than two trainings."""
        return statistics.stdev(self.test) if len(self.test) > 1 else math.nan

    def median_seconds(self, *phases: str) -> float:
        """Seconds of the phases with this prefix; 0 if there are none."""
        found = [s for run in self.runs for phase, s in run.seconds.items() if phase.startswith(phases)]
        return statistics.median(found) if found else 0.0


class Results(Mapping[Key, StoredRun]):
    """The file of all runs in a folder; runs are parsed on access."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RUNS
        self._lines = self._read()

    def __contains__(self, key: object) -> bool:
        return key in self._lines

    def __iter__(self) -> Iterator[Key]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, key: Key) -> StoredRun:
        line = self._lines[key]
        what = f"the run of {key.method} on {key.data} ({key.mark}) in {str(self.path)!r}"
        return from_plain(StoredRun, {name: line[name] for name in ("run", "history") if name in line}, what)

    def cell(self, keys: Sequence[Key]) -> Cell | None:
        """The runs of these keys, if all exist."""
        return Cell(tuple(self[key] for key in keys)) if all(key in self for key in keys) else None

    def add(self, key: Key, stored: StoredRun) -> None:
        """Add a run to the file, keeping runs that other processes have added meanwhile."""
        self._lines = self._read() | {key: _line(key, stored)}
        write_lines(self.path, (line for _, line in sorted(self._lines.items())))

    def _read(self) -> dict[Key, dict[str, Any]]:
        return {Key(**{name: line[name] for name in Key._fields}): line for line in read_lines(self.path)}


def _line(key: Key, stored: StoredRun) -> dict[str, Any]:
    """A run without folder-specific data, and with the meta graphs of the chosen candidate only."""
    run = {name: value for name, value in to_plain(stored.run).items() if name != "files"}
    run["data"] = {name: value for name, value in run["data"].items() if name not in ("digests", "facts")}
    run["plan"] = {name: value for name, value in run["plan"].items() if name != "engine" or value != asdict(Engine())}
    chosen = to_plain(stored.run.metagraphs)
    for candidate in run["candidates"]:
        if candidate["metagraphs"] != chosen:
            candidate["metagraphs"] = []
    history = {phase: list(scores) for phase, scores in stored.history.items()}
    return {**key._asdict(), "run": run, **({"history": history} if history else {})}
