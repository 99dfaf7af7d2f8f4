"""Candidates trained in a second: many as one program, beside trainings of their own that share the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from diffmg.core.settings import Settings
from diffmg.engine.device import describe_device, on_host, resolve_device
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.runs.sources import open_problem
from diffmg.tasks.problem import Problem
from diffmg.training import train_parallel
from diffmg.training.batched import BatchedTrainer, Trial

DEPTH = 4
EPOCHS = 200
T = TypeVar("T")


def measure(data: str, root: Path | None = None, candidates: int = 64, seed: int = 0) -> dict[str, Any]:
    """Train the same random candidates in both ways; the second batch shows what a captured program saves."""
    problem = open_problem(data, root=root).to(resolve_device("auto"))
    settings = Settings(max_epochs=EPOCHS, patience=None)
    trials = drawn(problem, settings, candidates, seed)
    trainer = BatchedTrainer(problem)
    fresh, found = timed(problem, lambda: trainer.train(trials))
    again, _ = timed(problem, lambda: trainer.train(drawn(problem, settings, candidates, seed + candidates)))
    pairs = [(trial.metagraphs, trial.seed) for trial in trials]
    parallel, wanted = timed(problem, lambda: train_parallel(problem, pairs, settings))
    gaps = [abs(one.best_score - other.best_score) for one, other in zip(found, wanted, strict=True)]
    return {
        "data": data, "device": describe_device(problem.graph.device), "candidates": candidates, "epochs": EPOCHS,
        "slots": [program.shape.slots for program in trainer.programs.values()],
        "batched_per_second": candidates / fresh, "batched_again_per_second": candidates / again,
        "parallel_per_second": candidates / parallel, "times_faster": parallel / again,
        "largest_score_difference": max(gaps), "mean_score_difference": sum(gaps) / len(gaps),
    }  # fmt: skip


def drawn(problem: Problem, settings: Settings, candidates: int, seed: int) -> list[Trial]:
    """Random meta graphs, one operation a link, each from its own seed."""
    method = RandomMetaGraph(depth=DEPTH)
    seeds = range(seed, seed + candidates)
    return [Trial(tuple(method.search(problem, settings, n).found()), settings, n) for n in seeds]


def timed(problem: Problem, work: Callable[[], Sequence[T]]) -> tuple[float, Sequence[T]]:
    """Seconds of a piece of work, to the end of what it queued on the device."""
    start = time.perf_counter()
    result = work()
    if not on_host(problem.graph.device):
        torch.cuda.synchronize(problem.graph.device)
    return time.perf_counter() - start, result
