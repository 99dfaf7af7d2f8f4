"""The engine beside the naive reference: seconds per epoch and peak memory of searching and of retraining."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import torch

from benchmarks.floor import least_work
from benchmarks.measure import JobRunner, Runner, advance_to, alternate, peak_bytes, size_of, summary, timed
from benchmarks.reference import RetrainReference
from benchmarks.reference_search import SearchReference
from diffmg.core.metagraph import MetaGraph
from diffmg.core.options import check_rules, check_types
from diffmg.core.settings import Settings
from diffmg.methods.search.diffmg import DiffMG
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.runs.sources import open_problem, published_for
from diffmg.tasks.problem import Problem
from diffmg.training import Job, Training

DEPTH = 4
WHOLE_RUNS = 3
WHOLE_SEARCH = 100
"""Epochs of a whole search."""
WHOLE_TRAINING = 200
"""Epochs of a whole retraining."""


@dataclass(frozen=True)
class EngineOptions:
    """How much is measured."""

    epochs: int = 20
    """Timed epochs of each program."""
    block: int = 5
    """Epochs per block, before the other program takes its turn."""
    warm_up: int = 3
    """Warm-up epochs, not timed."""
    yardstick: bool = True
    """Measure the naive reference too."""
    whole: bool = False
    """Also time whole jobs of this package, from a fresh start."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(
            self, {"epochs >= 1": self.epochs >= 1, "block >= 1": self.block >= 1, "warm_up >= 0": self.warm_up >= 0}
        )


class Live(Protocol):
    """A job of the reference."""

    def epoch(self) -> dict[str, float]:
        """Run one epoch."""


class ReferenceRunner:
    """Runs the naive reference."""

    def __init__(self, start: Callable[[], Live], warm_up: int) -> None:
        self.start, self.warm_up = start, warm_up
        self.live: Live | None = None

    def prepare(self, epochs: int) -> None:  # noqa: ARG002
        """Warm it up; it never ends."""
        if self.live is None:
            self.live = self.start()
            self.run(self.warm_up)

    def run(self, epochs: int) -> int:
        """Run this many epochs."""
        assert self.live is not None
        for _ in range(epochs):
            self.live.epoch()
        return epochs


@dataclass(frozen=True)
class Phase:
    """One kind of job, in both programs."""

    ours: Callable[[int], Job]
    """Starts a job from a seed."""
    reference: Callable[[], Live]
    whole: Callable[[int], Job]
    """Starts a job of full length, which is timed as a whole."""


@dataclass(frozen=True)
class Work:
    """The jobs on a data set: the authors' settings and meta graphs where published."""

    problem: Problem
    search: DiffMG
    settings: Settings
    metagraphs: tuple[MetaGraph, ...]

    @classmethod
    def on(cls, name: str, device: torch.device, root: Path | None = None) -> Work:
        """Load the data and choose the jobs."""
        published = published_for(name)
        problem = open_problem(name, root=root).to(device)
        if published is None:
            settings = Settings(patience=None)
            metagraphs = RandomMetaGraph(depth=DEPTH).search(problem, settings, 0).found()
            return cls(problem, DiffMG(depth=DEPTH), settings, metagraphs)
        settings = replace(Settings(**published.train), patience=None)
        search = replace(DiffMG(**published.search), depth=DEPTH)
        return cls(problem, search, settings, problem.arranged(published.metagraphs))

    def phases(self, seed: int) -> Iterator[tuple[str, Phase]]:
        """Searching and retraining."""
        problem, search, settings, found = self.problem, self.search, self.settings, self.metagraphs
        long_search, long = replace(search, epochs=WHOLE_SEARCH), replace(settings, max_epochs=WHOLE_TRAINING)
        yield (
            "search",
            Phase(
                lambda s: search.search(problem, settings, s),
                lambda: SearchReference(problem, search, settings.dim, seed),
                lambda s: long_search.search(problem, settings, s),
            ),
        )
        yield (
            "retrain",
            Phase(
                lambda s: Training(problem, found, settings, s),
                lambda: RetrainReference(problem, found, settings, seed),
                lambda s: Training(problem, found, long, s),
            ),
        )


def measure_engine(name: str, device: torch.device, options: EngineOptions, root: Path | None = None) -> dict[str, Any]:
    """Everything measured on one data set."""
    work = Work.on(name, device, root)
    phases = {phase: _measure(programs, device, options) for phase, programs in work.phases(options.seed)}
    least = least_work(work.problem, work.metagraphs, work.settings.dim)
    return size_of(work.problem) | {"least_per_retraining_epoch": least} | phases


def _measure(phase: Phase, device: torch.device, options: EngineOptions) -> dict[str, Any]:
    starts: dict[str, Callable[[], Runner]] = {"ours": lambda: JobRunner(phase.ours, options.seed, options.warm_up)}
    if options.yardstick:
        starts["yardstick"] = lambda: ReferenceRunner(phase.reference, options.warm_up)
    blocks = alternate([start() for start in starts.values()], options.epochs, options.block, device)
    found: dict[str, Any] = {
        name: summary(b) | {"peak_bytes": peak_bytes(start, device)}
        for (name, start), b in zip(starts.items(), blocks, strict=True)
    }
    if options.whole:
        found["ours"] |= _whole(phase.whole, device, options.seed)
    return found | {"ratio": found["yardstick"]["median"] / found["ours"]["median"] if options.yardstick else None}


def _whole(start: Callable[[int], Job], device: torch.device, seed: int) -> dict[str, Any]:
    """Seconds of whole jobs, each with a different seed; the first is a warm-up."""

    def work(seed: int) -> int:
        """A job from its start to its end."""
        job = start(seed)
        advance_to(job, job.total)
        return job.epoch

    seconds = [timed(partial(work, seed + number), device).seconds for number in range(1 + WHOLE_RUNS)][1:]
    return {"whole_seconds": seconds, "whole_median": median(seconds)}
