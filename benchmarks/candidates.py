"""Candidates trained in a second by a race's executor, beside trainings of their own that share the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from diffmg.core.candidate import Candidate
from diffmg.core.settings import Settings
from diffmg.engine.device import describe_device, resolve_device
from diffmg.methods.given import Given
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.race.executor import Local
from diffmg.race.field import Field
from diffmg.race.trial import Trial
from diffmg.runs.sources import open_problem
from diffmg.tasks.problem import Problem
from diffmg.training import train_parallel
from diffmg.training.batched import Trial as BatchedTrial

DEPTH = 4
T = TypeVar("T")


def measure(
    data: str, root: Path | None = None, candidates: int = 64, epochs: int = 200, seed: int = 0, device: str = "auto"
) -> dict[str, Any]:
    """Train the same random candidates in both ways, taking turns; the first batch starts workers or programs."""
    problem = open_problem(data, root=root).to(resolve_device(device))
    settings, field, local = Settings(max_epochs=epochs, patience=None), Field(problem), Local()
    several = [trials_of(problem, settings, candidates, seed + n * candidates) for n in range(3)]
    pairs = [[(t.candidate.metagraphs, t.seed) for t in trials] for trials in several]
    try:
        first, _ = timed(lambda: local.run(field, several[0]))
        timed(lambda: train_parallel(problem, pairs[0][:2], settings))
        again, found = timed(lambda: local.run(field, several[1]))
        parallel, wanted = timed(lambda: train_parallel(problem, pairs[1], settings))
        once_more, _ = timed(lambda: local.run(field, several[2]))
    finally:
        local.close()
    gaps = [abs(one.score - other.best_score) for one, other in zip(found, wanted, strict=True)]
    return {
        "data": data, "device": describe_device(problem.graph.device), "threads": torch.get_num_threads(),
        "candidates": candidates, "epochs": epochs, "first_per_second": candidates / first,
        "per_second": [candidates / again, candidates / once_more], "parallel_per_second": candidates / parallel,
        "times_faster": parallel / min(again, once_more),
        "largest_score_difference": max(gaps), "mean_score_difference": sum(gaps) / len(gaps),
    }  # fmt: skip


def trials_of(problem: Problem, settings: Settings, candidates: int, seed: int) -> list[Trial]:
    """Random meta graphs, one operation a link, each from its own seed."""
    method = RandomMetaGraph(depth=DEPTH)
    seeds = range(seed, seed + candidates)
    return [Trial(Candidate(Given(method.search(problem, settings, n).found()), settings), n) for n in seeds]


def drawn(problem: Problem, settings: Settings, candidates: int, seed: int) -> list[BatchedTrial]:
    """The same for a batched program."""
    trials = trials_of(problem, settings, candidates, seed)
    return [BatchedTrial(t.candidate.metagraphs, settings, t.seed) for t in trials]


def timed(work: Callable[[], Sequence[T]]) -> tuple[float, Sequence[T]]:
    """Seconds of a piece of work whose results are on the host."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
