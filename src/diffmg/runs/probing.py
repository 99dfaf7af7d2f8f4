"""How long a run would take, from a few epochs that are really run."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from diffmg.core import MetaGraph, Method, Plan, derive_seed
from diffmg.core.candidate import Candidate
from diffmg.race.trial import FAILURES, Trial, start
from diffmg.runs.runner import place
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import training_of
from diffmg.training.job import Job

DRAWN = 3
"""Candidates of a race that are tried."""
TRIES = 20


@dataclass(frozen=True)
class Pace:
    """The pace of one job."""

    begun: float
    """Seconds until its first epoch was done."""
    epoch: float
    """Seconds of each further epoch."""
    epochs: int
    """The most it may have."""

    @property
    def most(self) -> float:
        """Seconds if it does not stop early."""
        return self.begun + self.epoch * max(0, self.epochs - 1)


@dataclass(frozen=True)
class Probe:
    """What a run is estimated to take."""

    plan: Plan
    searches: int
    search: Pace | None
    training: Pace
    cores: int = 1
    """Trainings of a race that go on at the same time."""

    @property
    def trainings(self) -> int:
        """Trainings in all; of a race, as many as its budget is worth if none stops early."""
        budget = self.plan.budget
        if budget is None:
            return self.searches + self.plan.repeats - 1
        return budget.trainings or max(1, round((budget.seconds or 0) * self.cores / self.training.most))

    @property
    def total(self) -> float:
        """Seconds in all, if no training stops early; of a race at least its budget in seconds."""
        budget = self.plan.budget
        if budget is not None and budget.seconds is not None:
            return budget.seconds
        searched = 0.0 if self.search is None else self.searches * self.search.most
        return searched + self.trainings * self.training.most / self.cores

    def values(self) -> dict[str, float]:
        """Seconds of a search and of a training, and in all."""
        search = {} if self.search is None else {"search": self.search.most}
        return search | {"training": self.training.most, "trainings": self.trainings, "total": self.total}

    def lines(self) -> list[str]:
        """In words."""
        one = self.training
        found = [f"a training: at most about {_shown(one.most)}, {one.epochs} epochs of {1000 * one.epoch:.3g} ms"]
        if self.search is not None:
            found.insert(0, f"a search: about {_shown(self.search.most)}, {self.search.epochs} epochs")
        if self.plan.budget is not None and self.plan.budget.seconds is not None:
            return [*found, f"the budget of {self.plan.budget} is worth {self.trainings} such trainings, or more"]
        return [*found, f"in all: at most about {_shown(self.total)}, trainings: {self.trainings}"]


def probe(plan: Plan, problem: Problem, epochs: int = 3) -> Probe:
    """Run a few epochs of a plan's search and training, or of some candidates of its race."""
    method = plan.method.make()
    plan, placed = place(plan, problem, method)
    if plan.budget is not None:
        cores = torch.get_num_threads() if placed.graph.device.type == "cpu" else 1
        return Probe(plan, 0, None, _candidates(plan, method, placed, epochs), cores)
    begun = time.perf_counter()
    search = method.search(placed, plan.settings, derive_seed(plan.seed, "search", 0))
    searched = None if search.done else _pace(search, begun, epochs)
    return Probe(plan, method.searches, searched, _training(plan, method, placed, search.found(), epochs))


def _training(plan: Plan, method: Method, problem: Problem, found: Sequence[MetaGraph], epochs: int) -> Pace:
    begun, seed = time.perf_counter(), derive_seed(plan.seed, "train", 0)
    network = method.network(problem, plan.settings, seed, found)
    return _pace(training_of(problem, network, plan.settings, seed), begun, epochs)


def _candidates(plan: Plan, method: Method, problem: Problem, epochs: int) -> Pace:
    """The mean pace of candidates as the race would draw them; those that search first would take too long here."""
    space, rng, paces = method.space(problem, plan.settings), random.Random(plan.seed), list[Pace]()
    for candidate in (space.draw(rng) for _ in range(TRIES)):
        if len(paces) < DRAWN and not candidate.method.needs_search_memory:
            paces += _candidate(problem, candidate, plan.seed, epochs)
    if not paces:
        return _training(plan, method, problem, (), epochs)
    mean = statistics.fmean
    return Pace(mean(p.begun for p in paces), mean(p.epoch for p in paces), max(p.epochs for p in paces))


def _candidate(problem: Problem, candidate: Candidate, seed: int, epochs: int) -> list[Pace]:
    """Its pace with one thread, as in a race; nothing for one that cannot be trained."""
    begun, threads = time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        training, _ = start(problem, Trial(candidate, derive_seed(seed, "train", 0)))
        return [_pace(training, begun, epochs)]
    except FAILURES:
        return []
    finally:
        torch.set_num_threads(threads)


def _pace(job: Job, begun: float, epochs: int) -> Pace:
    """Run the first epoch, which prepares, then some more."""
    job.advance()
    first, done = time.perf_counter(), job.epoch
    while not job.done and job.epoch < done + epochs:
        job.advance()
    more = job.epoch - done
    last = time.perf_counter()
    return Pace(first - begun, (last - first) / more if more else 0.0, job.total)


def _shown(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
