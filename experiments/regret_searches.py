"""Searches replayed on a table of trained programs: a training is a look-up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any

from diffmg.core.budget import Budget
from diffmg.core.candidate import Candidate
from diffmg.core.metagraph import MetaGraph
from diffmg.core.settings import Settings
from diffmg.methods._wide import WideSpace
from diffmg.methods.auto import Auto
from diffmg.methods.search._trained import Trial as Judged
from diffmg.methods.search.genetic import Genetic, GeneticSearch
from diffmg.race.executor import Collect, Executor
from diffmg.race.field import Field
from diffmg.race.loop import Race
from diffmg.race.rules import Rules
from diffmg.race.trial import Outcome, Trial
from diffmg.training.job import Epoch
from experiments.exhaustive_table import ExhaustiveTable
from experiments.samplers import ask_and_tell, make_study

ASKED = 20
"""Proposals per training after which a search that repeats itself is stopped."""


@dataclass
class Replay:
    """A table that is being searched; a program costs a training the first time that it is asked for."""

    table: ExhaustiveTable
    trainings: int
    """How many a search may use."""
    seen: dict[str, float] = field(default_factory=dict)
    """Values by program, in the order of the trainings; higher is better."""

    @property
    def full(self) -> bool:
        """Whether there is nothing left to spend, or to try."""
        return len(self.seen) >= min(self.trainings, len(self.table.rows))

    def value(self, metagraphs: Sequence[MetaGraph]) -> float:
        """The score of meta graphs, negated where lower is better; -inf if the training failed, or is not paid for."""
        row = self.table.row(metagraphs)
        value = self.table.sign * row.score if math.isfinite(row.score) else -math.inf
        if row.key not in self.seen and self.full:
            return -math.inf
        return self.seen.setdefault(row.key, value)

    def curve(self) -> list[float]:
        """The regret of the best so far, after each training."""
        best, found = -math.inf, []
        for value in self.seen.values():
            best = max(best, value)
            found.append(self.table.sign * self.table.best.score - best)
        return found


Search = Callable[[Replay, int, int], object]
"""Spends the trainings of a replay; the other arguments are the seed, and how many are proposed at once."""


class TableExecutor(Executor):
    """Answers the trials of a race by look-up."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:  # noqa: ARG002
        """Scores from the table."""
        return lambda: [self._outcome(trial.candidate.metagraphs) for trial in trials]

    def close(self) -> None:
        """Nothing was started."""

    def _outcome(self, metagraphs: tuple[MetaGraph, ...]) -> Outcome:
        value = self.replay.value(metagraphs)
        return Outcome(self.replay.table.sign * value if math.isfinite(value) else math.nan, metagraphs=metagraphs)


@dataclass(frozen=True)
class OneDepth(WideSpace):
    """Meta graphs of the largest depth only, with one operation a link; settings are not varied."""

    @classmethod
    def of_table(cls, table: ExhaustiveTable) -> OneDepth:
        """The space of a table."""
        return cls((table.spaces,) * table.about["depth"], Settings(), {}, (1,))

    def seeds(self) -> Sequence[Candidate]:
        """None: averages of all operations are not in the table."""
        return ()

    def _metagraphs(self, rng: random.Random) -> tuple[MetaGraph, ...]:
        return tuple(space.sample(rng) for space in self.targets[-1])


def race(proposers: Sequence[str], replay: Replay, seed: int, batch: int) -> None:
    """The exploring part of our own race, with these proposers by turns."""
    most = min(replay.trainings, len(replay.table.rows))
    rules = Rules(Budget(trainings=most, explored=most, again=0), seed, batch, proposers=proposers)
    task: Any = SimpleNamespace(task=SimpleNamespace(sign=replay.table.sign))
    job = Race(Field(task), OneDepth.of_table(replay.table), rules, TableExecutor(replay))
    job.simplifies = False
    while not job.done:
        job.advance()


class TableGenetic(GeneticSearch):
    """The genetic search with look-ups in place of trainings."""

    def __init__(self, options: Genetic, replay: Replay, seed: int) -> None:
        self.options, self.replay, self.seed, self.total = options, replay, seed, options.generations
        self.spaces = replay.table.spaces
        self.counts = tuple(len(c) for space in self.spaces for c in space.candidates)
        rng = self._rng()
        self.population = [tuple(map(rng.randrange, self.counts)) for _ in range(options.population)]
        self.results = {}

    def advance(self) -> Sequence[Epoch]:
        """One generation."""
        if self.epoch > 0:
            self.population = self._next_generation()
        for genes in self.population:
            if genes not in self.results:
                self.results[genes] = Judged(self.replay.value(self._metagraphs(genes)), *[math.nan] * 3)
        self.epoch += 1
        return []


def genetic(replay: Replay, seed: int, batch: int) -> None:
    """Generations of the genetic search, as large as a batch but at least of eight."""
    population = max(8, batch)
    generations = ASKED * -(-replay.trainings // population)
    job = TableGenetic(Genetic(population=population, generations=generations), replay, seed)
    while not (job.done or replay.full):
        job.advance()


def by_optuna(sampler: str, replay: Replay, seed: int, batch: int) -> None:
    """One of Optuna's samplers, a parameter per link; CMA-ES sees the candidates as whole numbers."""
    spaces = replay.table.spaces

    def suggest(trial: Any) -> tuple[MetaGraph, ...]:
        names = [(f"{space.target} {link}", len(c)) for space in spaces for link, c in space.items()]
        if sampler == "cmaes":
            picks = iter([trial.suggest_int(name, 0, count - 1) for name, count in names])
        else:
            picks = iter([trial.suggest_categorical(name, range(count)) for name, count in names])
        return tuple(space.metagraph(tuple(islice(picks, len(space.candidates)))) for space in spaces)

    study = make_study(sampler, seed)
    for _ in range(ASKED * -(-replay.trainings // batch)):
        if replay.full:
            return
        ask_and_tell(study, suggest, lambda several: [replay.value(m) for m in several], batch, batch)


MIX = Auto().proposers
SEARCHES: dict[str, Search] = {
    "mix": partial(race, MIX),
    "chance": partial(race, ("chance",)),
    "evolution": partial(race, ("evolution",)),
    "surrogate": partial(race, ("surrogate",)),
    "genetic": genetic,
    "optuna tpe": partial(by_optuna, "tpe"),
    "optuna cmaes": partial(by_optuna, "cmaes"),
    "optuna random": partial(by_optuna, "random"),
}
"""By name; `mix` is that of the default method."""
