"""The race: explore new candidates, then train the best of them again on folds or from other seeds."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torch import Tensor

from diffmg.core import DiffmgError, derive_seed
from diffmg.core.budget import Budget
from diffmg.core.candidate import Candidate, CandidateSpace
from diffmg.race.board import OWN, Board, Turn
from diffmg.race.choice import best_single, tolerance
from diffmg.race.executor import Collect, Executor
from diffmg.race.field import Field
from diffmg.race.proposers import Proposal, proposals
from diffmg.race.result import own_split_ensemble
from diffmg.race.rules import Rules
from diffmg.race.simplify import simpler_candidate
from diffmg.race.trial import Trial
from diffmg.training.job import Epoch, Job

LATEST = 0.85
"""Share of a budget in seconds after which nothing new is tried, even if there is no room for finals."""
LONGER = 1.5
"""Times as long as the others a whole training is taken to be, where some were stopped early."""
TRIES = 50
"""Proposals in a row that were all tried before, after which the space is taken to be exhausted."""


@dataclass
class Flight:
    """A batch of trainings that was begun."""

    which: list[tuple[int, Turn]]
    explores: bool
    collect: Collect | None = None
    """None where it is to be begun, as after a checkpoint."""


class Race(Job):
    """A running race; `epoch` counts trainings that are over."""

    def __init__(self, field: Field, space: CandidateSpace, rules: Rules, executor: Executor) -> None:
        self.field, self.space, self.rules, self.executor = field, space, rules, executor
        self.board = Board(field.problem.task.sign)
        self.explored: int | None = None
        """Trainings when exploring ended."""
        self.flights: list[Flight] = []
        """Batches under way, the oldest first."""
        self.enough = False
        """Whether no more candidates are begun."""
        self.waiting: list[tuple[int, Turn]] = []
        """Further trainings of the finalists that have not begun."""
        self.again = 0
        """How many trainings were left for them."""
        self.stopped: int | None = None
        self.more: list[int] = []
        """Further finalists, round by round."""
        self.begun = 0.0
        """Seconds when exploring ended, of a budget in seconds."""
        self.closing = False
        """Whether no more finalists are trained."""
        self.simplified = rules.budget.simplify
        self.seen: set[Hashable] = set()
        self.exhausted = False
        self.simplifies = rules.budget.simplify
        """Whether the best meta graph is still to be simplified."""

    @property
    def total(self) -> int:  # type: ignore[override]
        """Trainings in all, as far as is known."""
        if self.rules.budget.trainings is not None:
            return self.rules.budget.trainings
        if self.explored is not None:
            return self.epoch + self._flying() + len(self.waiting)
        spent = max(self.seconds, 1e-9)
        return max(self.epoch + 1, round(self.epoch * (self.rules.budget.seconds or 0) / spent)) if self.epoch else 1

    @property
    def done(self) -> bool:
        """Whether the finalists have been trained again."""
        return self.explored is not None and not self.waiting and not self.flights

    def seconds_left(self) -> float | None:
        """Of a budget in seconds the rest of it, else by the pace so far."""
        if self.rules.budget.seconds is not None:
            return max(0.0, self.rules.budget.seconds - self.seconds)
        return self.seconds / self.epoch * (self.total - self.epoch) if self.epoch else None

    @property
    def spent(self) -> Budget:
        """The budget as it was spent, so that the race can be repeated."""
        limits = tuple(self.board.limits) if any(self.board.limits) else ()
        finals = (self.explored, self.again, self.stopped, self.simplified, tuple(self.more))
        return Budget(None, max(1, self.epoch), *finals, limits)

    def advance(self) -> Sequence[Epoch]:
        """Take the results of one batch; where it goes ahead, others are under way meanwhile."""
        begun = time.perf_counter()

        def seconds() -> float:
            return self.seconds + time.perf_counter() - begun

        if self.explored is None:
            self._explore(seconds)
            if self.enough and not self.flights:
                self.explored = self.epoch
                self.begun = seconds() if self.rules.budget.seconds is not None else 0.0
                self.waiting = self._finals(seconds())
        else:
            while self.waiting and len(self.flights) <= self.rules.ahead:
                now, self.waiting = self.waiting[: self.rules.batch], self.waiting[self.rules.batch :]
                self.flights.append(Flight(now, explores=False))
            self._land()
            self._stop(seconds())
        if self.done and not self.closing:
            self.waiting = self._further(seconds())
            self.closing = not self.waiting
        if self.done and self.simplifies:
            self.simplifies = False
            self.waiting = self._simpler()
        if self.done and not self.board.ranked():
            reasons = list(dict.fromkeys(e.error for e in self.board.entries))
            raise DiffmgError(
                f"a race needs a candidate that can be trained, but got {len(self.board.entries)} that failed: "
                f"{'; '.join(reasons[:3])}"
            )
        return [Epoch(self.epoch, math.nan, math.nan, self.board.best())]

    def _stop(self, seconds: float) -> None:
        """Leave the rest of the finals where time is over, as it was in a run that is repeated.

        Another batch is begun if half of it is expected to be over in time.
        """
        if self.closing or self.stopped is not None:
            return
        budget, flying, trained = self.rules.budget, self._flying(), self.epoch - (self.explored or 0)
        pace = (seconds - self.begun) / max(1, trained + flying / 2)
        batch = min(self.rules.batch, len(self.waiting) or self.rules.batch)
        over = budget.seconds is not None and seconds + pace * (flying + batch) / 2 >= budget.seconds
        if over or (budget.stopped is not None and trained + flying >= budget.stopped):
            self.stopped = trained + flying if self.waiting else None
            self.waiting = []
            self.simplified = self.simplifies = not over and budget.simplify

    def _explore(self, seconds: Callable[[], float]) -> None:
        """Begin batches of new candidates on the task's own split, and take the results of the oldest one."""
        while len(self.flights) <= self.rules.ahead and not self.enough:
            most, begun = self._most(), len(self.board.entries)
            fresh = self._fresh(self.rules.batch if most is None else min(self.rules.batch, most - begun))
            numbers = [self.board.add(p.candidate, p.origin) for p in fresh]
            self.flights.append(Flight([(n, OWN) for n in numbers], explores=True))
            self.enough = self.exhausted or (most is not None and len(self.board.entries) >= most)
        self._land()
        self.enough = self.enough or (self._most() is None and self._time_for_finals(self._landed(seconds())))

    def _flying(self) -> int:
        """Trainings under way."""
        return sum(len(flight.which) for flight in self.flights)

    def _landed(self, seconds: float) -> float:
        """When all that is under way is expected to be over, by the pace so far; half of it is taken to be done."""
        half = self._flying() / 2
        return seconds + seconds / max(1, self.epoch + half) * half

    def _land(self) -> None:
        """Take the results of the batch that was begun first."""
        for flight in self.flights:
            trials = [self._trial(number, turn, explore=flight.explores) for number, turn in flight.which]
            flight.collect = flight.collect or self.executor.begin(self.field, trials)
        flight = self.flights[0]
        assert flight.collect is not None, "all were begun"
        outcomes = flight.collect()
        del self.flights[0]
        for (number, turn), outcome in zip(flight.which, outcomes, strict=True):
            self.board.record(number, turn, outcome)
            if flight.explores:
                self.board.limits.append(outcome.epochs if outcome.cut else self._limit(number))
        self.epoch += len(outcomes)
        if flight.explores:
            self.board.running_best.append(self.board.best())

    def _most(self) -> int | None:
        """Trainings that explore, where that is known in advance."""
        budget = self.rules.budget
        if budget.explored is not None or budget.trainings is None:
            return budget.explored
        whole, turns = budget.trainings, len(self.rules.turns)
        most = min(math.ceil(self.rules.share * whole), whole - 2 * turns - 1)  # room for a finalist and a simpler one
        return most if most >= whole / 3 else max(1, whole - 1)

    def _time_for_finals(self, seconds: float) -> bool:
        """Whether enough was explored, or another batch would leave too little for a finalist.

        Where too little is left already, exploring goes on.
        """
        whole, turns = self.rules.budget.seconds or 0, len(self.rules.turns)
        left, needed = self._left(seconds, turns), turns + any(self.board.limits)
        if left < needed:
            return seconds >= LATEST * whole
        return seconds >= self.rules.share * whole or (seconds >= whole / 3 and left - self.rules.batch < needed)

    def _fresh(self, count: int) -> list[Proposal]:
        """Proposals that were not tried before; fewer if there are no more."""
        rng = random.Random(derive_seed(self.rules.seed, "batch", len(self.board.entries)))
        by_chance = set(self.rules.proposers) == {"chance"}
        seeds = [] if by_chance else [c for c in self.space.seeds() if self._key(c) not in self.seen]
        found: list[Proposal] = []
        source = proposals(self.space, self.board.judged(), rng, seeds, self.rules.proposers)
        for proposal in islice(source, TRIES + 2 * count):
            key = self._key(proposal.candidate)
            if len(found) == count:
                break
            if key not in self.seen:
                self.seen.add(key)
                found.append(proposal)
        self.exhausted = len(found) < count
        return found

    def _key(self, candidate: Candidate) -> Hashable:
        return frozenset(self.space.genes(candidate).items())

    def _finals(self, seconds: float) -> list[tuple[int, Turn]]:
        """Further trainings of as many of the best as the rest of the budget allows, the best one first."""
        turns, cut = self.rules.turns, any(self.board.limits)
        left = self.again = self._left(seconds, len(turns))
        count = left // (len(turns) + cut)
        if not self.board.models or not (count or cut):
            return []
        return self._turns(self._finalists(count or left), turns if count else ())[:left]

    def _further(self, seconds: float) -> list[tuple[int, Turn]]:
        """Trainings of further finalists, where the first ones took less time than was kept for them."""
        turns, budget = self.rules.turns, self.rules.budget
        trained, done = self.epoch - (self.explored or 0), [n for n, e in enumerate(self.board.entries) if e.finalist]
        if budget.seconds is None:
            count = budget.more[len(self.more)] if len(self.more) < len(budget.more) else 0
        elif not trained or not done:
            count = 0
        else:
            pace = (seconds - self.begun) / trained
            left = int((budget.seconds - seconds) / max(pace, 1e-9)) - 1 - len(turns)
            count = max(0, left // (len(turns) + any(self.board.limits)))
        if not count:
            return []
        self.more.append(count)
        return self._turns([n for n in self._finalists(len(done) + count) if n not in done][:count], turns)

    def _turns(self, finalists: Sequence[int], turns: Sequence[Turn]) -> list[tuple[int, Turn]]:
        """All trainings of finalists; what was cut short comes first."""
        whole = [(n, OWN) for n in finalists if self.board.limits[n]]
        return [*whole, *((n, turn) for n in finalists for turn in turns)]

    def _left(self, seconds: float, turns: int) -> int:
        """Trainings that are left for the finalists; some are kept back for a simpler meta graph."""
        budget = self.rules.budget
        if budget.again is not None:
            return budget.again
        if budget.trainings is not None:
            left = budget.trainings - self.epoch
        else:
            pace = seconds / max(1, len(self.board.entries)) * (LONGER if any(self.board.limits) else 1)
            left = int(((budget.seconds or 0) - seconds) / pace)
        return max(left - 1 - turns, int(any(self.board.limits)))

    def _finalists(self, count: int) -> list[int]:
        """The best with a meta graph, the best of those an ensemble would take, the best; few variants of one rival.

        Where there is room for one, it is the best of all: it is half of what predicts.
        """
        ranked, entries, most = self.board.ranked(), self.board.entries, max(2, count // 4)
        together = {pick.number for pick in own_split_ensemble(self.board, self.field)[-1]}
        wanted = [n for n in ranked if n in together][: -(-count // 2)]
        drawn = [n for n in ranked if entries[n].has_metagraph][:1]
        chosen = list(dict.fromkeys([*(drawn if count > 1 else ranked[:1]), *wanted]))[:count]
        for number in ranked:
            method = entries[number].candidate.method.name
            same = sum(entries[n].candidate.method.name == method for n in chosen)
            if len(chosen) < count and number not in chosen and (entries[number].candidate.metagraphs or same < most):
                chosen.append(number)
        return chosen

    def _simpler(self) -> list[tuple[int, Turn]]:
        """Trainings of the best meta graph without what it does not need: as many as the whole one had."""
        if not self.board.models:
            return []
        pick = best_single(self.board, self.field)
        entry = self.board.entries[pick.number]
        candidate = simpler_candidate(self.field.problem, self.board, pick, tolerance(self.board, self.field))
        if candidate is None or self._key(candidate) in self.seen:
            return []
        self.seen.add(self._key(candidate))
        number = self.board.add(candidate, "simpler")
        self.board.limits.append(0)
        return [(number, turn) for turn in entry.values]

    def _trial(self, number: int, turn: Turn, *, explore: bool) -> Trial:
        candidate, limit = self.board.entries[number].candidate, self._limit(number) if explore else 0
        seconds = self.rules.patience if explore and not limit else None
        return Trial(candidate, self.seed_of(turn), turn.fold, limit or None, seconds)

    def _limit(self, number: int) -> int:
        """Epochs after which the first training of a candidate was stopped in the run that is repeated; else 0."""
        limits = self.rules.budget.limits
        return limits[number] if number < len(limits) else 0

    def seed_of(self, turn: Turn) -> int:
        """The seed of a training: the same for every candidate, so that only the candidates differ."""
        return derive_seed(self.rules.seed, "train", turn.repeat)

    def tensors(self) -> dict[str, Tensor]:
        """The models that were kept."""
        return self.board.tensors()

    def numbers(self) -> dict[str, Any]:
        """What was tried, and what waits."""
        return {
            "entries": self.board.plain(),
            "waiting": [[number, *turn] for number, turn in self.waiting],
            "flights": [[[[number, *turn] for number, turn in f.which], f.explores] for f in self.flights],
            "enough": self.enough,
            "explored": self.explored,
            "again": self.again,
            "stopped": self.stopped,
            "more": self.more,
            "begun": self.begun,
            "closing": self.closing,
            "simplified": self.simplified,
            "limits": self.board.limits,
            "running_best": self.board.running_best,
            "simplifies": self.simplifies,
        }

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        self.board.restore(numbers["entries"], tensors)
        self.board.running_best = numbers["running_best"]
        self.waiting = _turns_read(numbers["waiting"])
        self.flights = [Flight(_turns_read(which), explores) for which, explores in numbers["flights"]]
        self.enough = numbers["enough"]
        self.explored, self.again, self.board.limits = numbers["explored"], numbers["again"], numbers["limits"]
        self.simplifies, self.simplified = numbers["simplifies"], numbers["simplified"]
        self.stopped, self.more, self.begun = numbers["stopped"], numbers["more"], numbers["begun"]
        self.closing = numbers["closing"]
        self.seen = {self._key(entry.candidate) for entry in self.board.entries}


def _turns_read(plain: Sequence[Sequence[int]]) -> list[tuple[int, Turn]]:
    return [(number, Turn(fold, repeat)) for number, fold, repeat in plain]
