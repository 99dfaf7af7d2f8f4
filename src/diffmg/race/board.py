"""What a race has tried so far: candidates, their scores, and the models worth keeping."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from diffmg.core import MetaGraph, MethodSpec, Settings
from diffmg.core.candidate import Candidate
from diffmg.core.codec import from_plain, to_plain
from diffmg.race.trial import Outcome

KEPT_BYTES = 2**29
"""Most bytes of weights and votes that are kept for an ensemble."""


class Turn(NamedTuple):
    """Which training of a candidate: the fold (0 for the task's own split) and the number of the seed."""

    fold: int
    repeat: int


OWN = Turn(0, 0)
"""The first training of every candidate: on the task's own split."""


@dataclass
class Entry:
    """A candidate, who proposed it, and its scores so far; higher is better, whatever the metric's direction."""

    candidate: Candidate
    origin: str
    values: dict[Turn, float] = field(default_factory=dict)
    epochs: dict[Turn, int] = field(default_factory=dict)
    """The best epoch of each training."""
    error: str = ""
    metagraphs: tuple[MetaGraph, ...] = ()

    @property
    def value(self) -> float:
        """The mean over its trainings; minus infinity if one of them failed."""
        return statistics.fmean(self.values.values()) if self.values else -math.inf

    @property
    def finalist(self) -> bool:
        """Whether it was trained again, on a fold or from another seed."""
        return any(turn != OWN for turn in self.values)

    @property
    def has_metagraph(self) -> bool:
        """Whether its model can be drawn."""
        return bool(self.metagraphs)


@dataclass
class Board:
    """All candidates that were tried, and the models that an ensemble may use."""

    sign: int
    entries: list[Entry] = field(default_factory=list)
    models: dict[tuple[int, Turn], Outcome] = field(default_factory=dict)
    limits: list[int] = field(default_factory=list)
    """For each candidate, the epochs after which its first training was stopped; 0 if it was not."""
    running_best: list[float] = field(default_factory=list)
    """The best value after each training that tried a new candidate."""

    def add(self, candidate: Candidate, origin: str) -> int:
        """A new candidate; its number."""
        self.entries.append(Entry(candidate, origin))
        return len(self.entries) - 1

    def record(self, number: int, turn: Turn, outcome: Outcome) -> None:
        """What came of one of its trainings."""
        entry = self.entries[number]
        entry.values[turn] = -math.inf if outcome.failed else self.sign * outcome.score
        entry.epochs[turn] = outcome.best_epoch
        entry.error = entry.error or outcome.error
        entry.metagraphs = entry.metagraphs or outcome.metagraphs
        if not outcome.failed:
            self.models[number, turn] = outcome
        self._prune()

    @property
    def trainings(self) -> int:
        """How many trainings there were."""
        return sum(len(entry.values) for entry in self.entries)

    @property
    def failed(self) -> int:
        """How many candidates had a training that failed."""
        return sum(bool(entry.error) for entry in self.entries)

    def judged(self) -> list[tuple[Candidate, float]]:
        """Candidates that can be compared, with their values."""
        return [(e.candidate, e.value) for e in self.entries if math.isfinite(e.value)]

    def ranked(self, *, least: int = 1) -> list[int]:
        """Candidates with at least so many trainings, best first; ties go to the earlier one."""
        fit = [n for n, e in enumerate(self.entries) if len(e.values) >= least and math.isfinite(e.value)]
        return sorted(fit, key=lambda n: (-self.entries[n].value, n))

    def best(self) -> float:
        """The best value so far, as a score in the metric's own direction."""
        order = self.ranked()
        return self.sign * self.entries[order[0]].value if order else math.nan

    def _prune(self) -> None:
        """Forget the models of the worst candidates where all together are too large.

        The best of every method goes last: the best of all are often relatives, and others make up for their errors.
        """
        sizes = {key: sum(t.numel() * t.element_size() for t in _tensors_of(o)) for key, o in self.models.items()}
        total = sum(sizes.values())
        if total <= KEPT_BYTES:
            return
        worst_first = sorted(self.models, key=lambda key: (self.entries[key[0]].value, -key[0]))
        best = {self.entries[key[0]].candidate.method.name: key for key in worst_first}
        for key in sorted(worst_first, key=set(best.values()).__contains__):
            if total <= KEPT_BYTES or len(self.models) <= 2:
                return
            total -= sizes[key]
            del self.models[key]

    def plain(self) -> list[dict[str, Any]]:
        """Everything but the models, ready for JSON."""
        return [_entry_to_plain(entry) for entry in self.entries]

    def tensors(self) -> dict[str, Tensor]:
        """The models."""
        found: dict[str, Tensor] = {}
        for (number, turn), outcome in self.models.items():
            place = f"{number}.{turn.fold}.{turn.repeat}"
            found |= {f"weights.{place}.{name}": t for name, t in outcome.weights.items()}
            if outcome.votes is not None:
                found[f"votes.{place}"] = outcome.votes
        return found

    def restore(self, entries: list[dict[str, Any]], tensors: Mapping[str, Tensor]) -> None:
        """Read what `plain` and `tensors` wrote."""
        self.entries = [_entry_from_plain(plain) for plain in entries]
        weights: dict[tuple[int, Turn], dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            kind, which, fold, repeat, *rest = name.split(".")
            place = (int(which), Turn(int(fold), int(repeat)))
            weights.setdefault(place, {})
            if kind == "weights":
                weights[place][".".join(rest)] = tensor
        for (number, turn), state in weights.items():
            entry = self.entries[number]
            votes = tensors.get(f"votes.{number}.{turn.fold}.{turn.repeat}")
            score = self.sign * entry.values[turn]
            self.models[number, turn] = Outcome(
                score, best_epoch=entry.epochs[turn], metagraphs=entry.metagraphs, weights=state, votes=votes
            )


def _tensors_of(outcome: Outcome) -> list[Tensor]:
    return [*outcome.weights.values(), *([] if outcome.votes is None else [outcome.votes])]


def _entry_to_plain(entry: Entry) -> dict[str, Any]:
    turns = [[*turn, None if math.isinf(value) else value, entry.epochs[turn]] for turn, value in entry.values.items()]
    return {
        "method": to_plain(entry.candidate.method.spec()),
        "settings": to_plain(entry.candidate.settings),
        "origin": entry.origin,
        "trainings": turns,
        "error": entry.error,
        "metagraphs": [m.to_dict() for m in entry.metagraphs],
    }


def _entry_from_plain(plain: Mapping[str, Any]) -> Entry:
    what = "a candidate of a race"
    method = from_plain(MethodSpec, plain["method"], what).make()
    candidate = Candidate(method, from_plain(Settings, plain["settings"], what))
    metagraphs = tuple(MetaGraph.from_dict(m) for m in plain["metagraphs"])
    entry = Entry(candidate, plain["origin"], error=plain["error"], metagraphs=metagraphs)
    for fold, repeat, value, epoch in plain["trainings"]:
        entry.values[Turn(fold, repeat)] = -math.inf if value is None else value
        entry.epochs[Turn(fold, repeat)] = epoch
    return entry
