"""A run: what was done and what came out, as a value and as `run.json`."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from diffmg.core.errors import DiffmgError
from diffmg.core.files import read_json
from diffmg.core.metagraph import MetaGraph

FORMAT = 1
RUN, HISTORY = "run.json", "history.jsonl"
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Candidate:
    """Meta graphs that one search found, and how they did on validation once trained."""

    metagraphs: tuple[MetaGraph, ...]
    val_score: float
    """-inf where there is none: not trained yet, or no epoch had a score."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {"val_score": _finite(self.val_score), "metagraphs": [m.to_dict() for m in self.metagraphs]}


@dataclass(frozen=True)
class Trained:
    """One training of the chosen meta graphs."""

    repeat: int
    """Number of the training; its seed follows from the plan's."""
    epochs: int
    best_epoch: int
    val: Scores
    test: Scores


@dataclass(frozen=True)
class Run:
    """Enough to repeat the run, and its results."""

    status: Literal["running", "interrupted", "done"]
    plan: Mapping[str, Any]
    metric: str
    data: Mapping[str, Any]
    """Hashes of the network and the task, target types, classes."""
    versions: Mapping[str, str | None]
    device: str
    seconds: Mapping[str, float]
    """Per phase; only time spent computing, also over several sittings."""
    candidates: tuple[Candidate, ...] = ()
    chosen: int = 0
    trained: tuple[Trained, ...] = ()
    kept: int = 0
    """Which of `trained` the model file holds: the best on validation."""

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """The meta graphs that were chosen."""
        return self.candidates[self.chosen].metagraphs if self.candidates else ()

    def mean(self, part: Literal["val", "test"], metric: str | None = None) -> float:
        """Mean of a score over the trainings; NaN where there is none."""
        values = self.values(part, metric)
        return statistics.fmean(values) if values else math.nan

    def std(self, part: Literal["val", "test"], metric: str | None = None) -> float:
        """Sample standard deviation of a score over the trainings; NaN for fewer than two."""
        values = self.values(part, metric)
        return statistics.stdev(values) if len(values) > 1 else math.nan

    def values(self, part: Literal["val", "test"], metric: str | None = None) -> list[float]:
        """A score of every training."""
        name = metric or self.metric
        return [s[name] for s in (getattr(t, part) for t in self.trained) if name in s]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON; the mean scores are there for people to read."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain |= {"candidates": [c.to_dict() for c in self.candidates], "trained": [asdict(t) for t in self.trained]}
        return {"format": FORMAT} | plain | {"scores": {p: self._summary(p) for p in ("val", "test")}}

    def _summary(self, part: Literal["val", "test"]) -> dict[str, dict[str, float | None]]:
        names = getattr(self.trained[0], part) if self.trained else {}
        return {
            n: {"mean": self.mean(part, n), "std": _finite(self.std(part, n)), "n": len(self.trained)} for n in names
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Run:
        """Read what `to_dict` wrote."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise DiffmgError(f"a run file must have format {FORMAT}, but got {found!r} in {where!r}")
        try:
            known = {f.name: data[f.name] for f in fields(cls)}
            candidates = tuple(
                Candidate(tuple(map(MetaGraph.from_dict, c["metagraphs"])), _score(c["val_score"]))
                for c in data["candidates"]
            )
            trained = tuple(Trained(**t) for t in data["trained"])
        except (KeyError, TypeError) as error:
            raise DiffmgError(
                f"a run file must be one that diffmg wrote, but got {where!r} with {error!r} wrong"
            ) from error
        if candidates and not 0 <= data["chosen"] < len(candidates):
            raise DiffmgError(f"`0 <= chosen < {len(candidates)}` must hold in {where!r}, but got {data['chosen']}")
        return cls(**(known | {"candidates": candidates, "trained": trained}))


def read_run(folder: Path) -> Run:
    """The run of a run folder."""
    if not folder.is_dir():
        raise DiffmgError(f"a run folder must exist, but got {str(folder)!r}")
    path = folder / RUN
    return Run.from_dict(read_json(path, "the run.json of a run folder"), str(path))


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The epochs of a run folder; a line that was cut off is left out."""
    path = folder / HISTORY
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def read_metagraphs(path: Path) -> tuple[MetaGraph, ...]:
    """Meta graphs from a file: one, or a list under `metagraphs`."""
    data = read_json(path, "a meta graph file")
    many = data.get("metagraphs", [data]) if isinstance(data, dict) else data
    if not isinstance(many, list) or not many:
        raise DiffmgError(
            f"a meta graph file holds one meta graph or a list of them, but got {str(path)!r} without any"
        )
    return tuple(MetaGraph.from_dict(m) for m in many)


def metagraphs_to_dict(metagraphs: Sequence[MetaGraph]) -> dict[str, Any]:
    """The content of `metagraph.json`."""
    return {"metagraphs": [m.to_dict() for m in metagraphs]}


def _score(value: float | None) -> float:
    return -math.inf if value is None else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
