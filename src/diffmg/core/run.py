"""A run: the plan and its results, as a value and as `run.json`."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diffmg.core.budget import Budget
from diffmg.core.codec import check_format, from_plain, read_json, to_plain
from diffmg.core.details import Beside, Certainty, Details
from diffmg.core.errors import DiffmgError
from diffmg.core.files import read_text
from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import MetaGraph
from diffmg.core.parse import Kinds, checked_fields, parse_json
from diffmg.core.perfect import perfect_scores
from diffmg.core.pictured import Pictured
from diffmg.core.plan import Plan
from diffmg.core.trust import named_by_file

FORMAT = 2
RUN, HISTORY, TRIED = "run.json", "history.jsonl", "tried.jsonl"
LOSSES = ("train_loss", "val_loss", "val_score")
"""Numbers of an epoch in the history."""
Scores = Mapping[str, float]
ScoredPart = Literal["val", "test"]


@dataclass(frozen=True)
class Candidate:
    """The result of one search, and its validation score after training."""

    metagraphs: tuple[MetaGraph, ...]
    """One per target type; none where the method has no meta graph."""
    val_score: float | None = None
    """None if not trained yet, or if no epoch had a score."""


@dataclass(frozen=True)
class Trained:
    """One training of the chosen candidate."""

    repeat: int
    """Index of the training; its seed is derived from the plan's."""
    epochs: int
    best_epoch: int
    val: Scores
    test: Scores


def shown(value: float) -> str:
    """A score for a person: four decimal places, or three digits where these would tell little."""
    return f"{value:.3g}" if 0 < abs(value) < 1e-3 else f"{value:.4f}"


@dataclass(frozen=True)
class Data:
    """The data of a run."""

    task: str
    """The kind of task."""
    metric: str
    target_types: tuple[str, ...]
    hash: str
    """Hash of all digests; independent of the order of rows."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Hashes and counts of each part of the network and the task."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """A summary for readers: nodes, edges, classes or numbers by part."""


@dataclass(frozen=True)
class Share:
    """A candidate of a race, by number, and its share in the ensemble."""

    candidate: int
    share: float


@dataclass(frozen=True)
class Finalist:
    """A candidate that was trained several times: mean and standard deviation of its validation scores."""

    candidate: int
    described: str
    mean: float
    std: float
    trainings: int


@dataclass(frozen=True)
class Evidence:
    """What a race tried, and how sure its choice is."""

    candidates: int
    failed: int
    """Candidates with a training that failed."""
    errors: tuple[str, ...]
    finalists: tuple[Finalist, ...]
    judged_on: Literal["folds", "validation"]
    running_best: tuple[float, ...]
    """The best validation score after each batch that explored."""
    gain_of_doubling: float
    """What the second half of the explored candidates is expected to have brought."""
    shares: tuple[Share, ...]
    single: int
    """The candidate of the single model."""
    single_score: float
    ensemble_score: float
    cut: int = 0
    """Candidates whose first training was stopped early, to judge enough of them in time."""
    chance: float | None = None
    """The test score of answers that know nothing (`blind`); None before the end, or without a test part."""
    above_chance: bool | None = None
    """Whether the model's test score is surely better than chance."""
    blind: str = ""
    """What the answers that know nothing are; the model's own, dealt out at random, where it says nothing."""


@dataclass(frozen=True)
class Run(Pictured):
    """The results of a run, and all that is needed to repeat it."""

    _picture = "run"

    status: Literal["running", "interrupted", "done"]
    plan: Plan
    data: Data
    versions: Mapping[str, str | None]
    device: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Computing time per phase, summed over resumed sessions."""
    candidates: tuple[Candidate, ...] = ()
    chosen: int = 0
    trained: tuple[Trained, ...] = ()
    kept: int = 0
    """Which of `trained` the model file holds: the best on validation."""
    files: Mapping[str, str] = field(default_factory=dict)
    """sha256 of the other files of the run folder."""
    spent: Budget | None = None
    """The budget of a race as it was spent: with it in place of the plan's, the run can be repeated."""
    evidence: Evidence | None = None
    single: Trained | None = None
    """The best single model of a race, where an ensemble is used for prediction."""
    notes: tuple[str, ...] = ()
    """What was done to the data when they were read, and what in them may know the answer."""
    importances: tuple[PathImportance, ...] = ()
    """What the paths of `metagraphs` are worth on validation to their model (of a race: to the single model)."""
    certainty: Certainty | None = None
    """How sure the test score is; None without a test part, or before the end."""
    details: Details | None = None
    """The kept model's answers on the test part in detail."""
    beside: tuple[Beside, ...] = ()
    """Simple methods on the same split, those that refused it last."""

    def __post_init__(self) -> None:
        for name, several in (("chosen", self.candidates), ("kept", self.trained)):
            number = getattr(self, name)
            if several and not 0 <= number < len(several):
                raise DiffmgError(f"`0 <= {name} < {len(several)}` must hold, but got {name}={number}")

    @property
    def metric(self) -> str:
        """The metric used for selection."""
        return self.data.metric

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """The chosen meta graphs."""
        return self.candidates[self.chosen].metagraphs if self.candidates else ()

    def scores(self, part: ScoredPart) -> Scores:
        """The scores of the kept model, the one `predict` uses."""
        return getattr(self.trained[self.kept], part) if self.trained else {}

    def mean(self, part: ScoredPart, metric: str | None = None) -> float:
        """Mean of a score over the trainings; NaN where there is none."""
        values = self.values(part, metric)
        return statistics.fmean(values) if values else math.nan

    def std(self, part: ScoredPart, metric: str | None = None) -> float:
        """Sample standard deviation of a score over the trainings; NaN for fewer than two."""
        values = self.values(part, metric)
        return statistics.stdev(values) if len(values) > 1 else math.nan

    def values(self, part: ScoredPart, metric: str | None = None) -> list[float]:
        """A score of every training."""
        name = metric or self.metric
        return [s[name] for s in (getattr(t, part) for t in self.trained) if name in s]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, ready for JSON; `scores` of the kept model is added for readers."""
        scores = {part: dict(self.scores(part)) for part in ("val", "test")}
        plain: dict[str, Any] = to_plain(self)
        return {"format": FORMAT, "status": plain.pop("status"), "scores": scores, **plain}

    @classmethod
    def from_dict(cls, data: object, what: str) -> Run:
        """Read what `to_dict` wrote."""
        plain = check_format(data, FORMAT, what)
        run = from_plain(cls, {name: value for name, value in plain.items() if name != "scores"}, what)
        named_by_file(run.plan.source.name)
        return run

    def __repr__(self) -> str:
        lines = [f"Run({self.status}: {self.plan.method.name} on {self.plan.source.name or 'a network from Python'}"]
        for part in ("val", "test"):
            scores = ", ".join(f"{name} {shown(value)}" for name, value in self.scores(part).items())
            lines += [f"  {part}: {scores}"] if scores else []
        lines += [f"  {warning}" for warning in perfect_scores(self)]
        lines += [f"  {len(self.candidates)} candidates, {len(self.trained)} trainings, seed {self.plan.seed}"]
        return "\n".join([*lines, f"  {sum(self.seconds.values()):.1f} s on {self.device})"])


def read_run(folder: Path) -> Run:
    """Read the run of a run folder."""
    try:
        exists = folder.is_dir()
    except OSError as error:
        raise DiffmgError(f"a run folder must be readable, but got {str(folder)!r}: {error.strerror}") from error
    if not exists:
        raise DiffmgError(f"a run folder must exist, but got {str(folder)!r}")
    path = folder / RUN
    return Run.from_dict(read_json(path, "the run.json of a run folder"), f"the run file {str(path)!r}")


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The epoch records of a run folder; the end is left out where it was cut off."""
    path = folder / HISTORY
    if not path.exists():
        return []
    lines = read_text(path, "the history of a run", "replace").split("\n")
    while lines and not _is_whole(lines[-1]):
        lines.pop()
    return [_epoch(line, f"line {number} of {str(path)!r}") for number, line in enumerate(lines, 1)]


def _is_whole(line: str) -> bool:
    with suppress(ValueError, RecursionError):
        return json.loads(line) is not None
    return False


def _epoch(line: str, what: str) -> dict[str, Any]:
    numbers: dict[str, Kinds] = dict.fromkeys(LOSSES, (int, float, type(None)))
    return checked_fields(parse_json(line, what), {"phase": str, "epoch": int, **numbers}, what)


def read_metagraphs(path: Path) -> tuple[MetaGraph, ...]:
    """Read meta graphs from a file: one, or a list under `metagraphs`."""
    data = read_json(path, "a meta graph file")
    if isinstance(data, dict):
        check_format({"format": 1, **data}, 1, f"the meta graph file {str(path)!r}")
    several = data.get("metagraphs", [data]) if isinstance(data, dict) else data
    if not isinstance(several, list) or not several:
        raise DiffmgError(f"a meta graph file holds one meta graph or a list, but got {str(path)!r} without any")
    return tuple(MetaGraph.from_dict(m) for m in several)


def metagraphs_to_dict(metagraphs: Sequence[MetaGraph]) -> dict[str, Any]:
    """The content of `metagraph.json`."""
    return {"format": 1, "metagraphs": [m.to_dict() for m in metagraphs]}
