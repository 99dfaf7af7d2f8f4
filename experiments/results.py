"""Results: one JSON line per run, looked up by row, data set and plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from experiments.cells import Cell, StoredRun
from experiments.jsonl import read_lines, write_lines

RUNS = "runs.jsonl"
FINALISTS = 5
"""How many of a race's finalists are kept."""


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
    if plan.budget is not None:
        given = asdict(plan.budget).items()
        budget = {name: value for name, value in given if value is not None and (name, value) != ("more", ())}
        decisive["race"] = [budget, plan.single, plan.refit]
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]


def _changed(value: Any) -> dict[str, Any]:
    default = type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(default, f.name)}


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
        """The runs of these keys that exist; None if there are none."""
        found = tuple(self[key] for key in keys if key in self)
        return Cell(found) if found else None

    def add(self, key: Key, stored: StoredRun) -> None:
        """Add a run to the file, keeping runs that other processes have added meanwhile."""
        self._write({key: _line(key, stored)})

    def merge(self, other: Results) -> list[Key]:
        """Add the runs of another file, in place of those with the same key; returns the keys of what changed."""
        changed = sorted(key for key in other if self._lines.get(key) != other._lines[key])
        for key in changed:
            if mark_of(other[key].run.plan) != key.mark:
                raise DiffmgError(
                    f"a run must have the mark of its plan, {mark_of(other[key].run.plan)}, but got {key.mark} for "
                    f"{key.method} on {key.data} in {str(other.path)!r}; run it again with this version"
                )
        if changed:
            self._write({key: other._lines[key] for key in changed})
        return changed

    def _write(self, more: Mapping[Key, dict[str, Any]]) -> None:
        self._lines = self._read() | dict(more)
        write_lines(self.path, (line for _, line in sorted(self._lines.items())))

    def _read(self) -> dict[Key, dict[str, Any]]:
        return {Key(**{name: line[name] for name in Key._fields}): line for line in read_lines(self.path)}


def _line(key: Key, stored: StoredRun) -> dict[str, Any]:
    """A run without folder-specific data, with the meta graphs of the chosen candidate and the best finalists only."""
    run = {name: value for name, value in to_plain(stored.run).items() if name != "files"}
    run["data"] = {name: value for name, value in run["data"].items() if name not in ("digests", "facts")}
    run["plan"] = {name: value for name, value in run["plan"].items() if name != "engine" or value != asdict(Engine())}
    chosen = to_plain(stored.run.metagraphs)
    for candidate in run["candidates"]:
        if candidate["metagraphs"] != chosen:
            candidate["metagraphs"] = []
    if run["evidence"] is not None:
        run["evidence"]["finalists"] = run["evidence"]["finalists"][:FINALISTS]
    for name in ("spent", "evidence", "single"):
        if run[name] is None:
            del run[name]
    history = {phase: list(scores) for phase, scores in stored.history.items()}
    return {**key._asdict(), "run": run, **({"history": history} if history else {})}
