"""Training many candidates in parallel."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

import torch

from diffmg.core import MetaGraph, Settings
from diffmg.engine.backend import Backend
from diffmg.tasks.problem import Problem
from diffmg.training.training import Training

CONCURRENT = 8
"""Trainings that share a GPU: one alone does not fill it."""

Candidate = tuple[Sequence[MetaGraph], int]
"""Meta graphs and a seed."""


class Launchable(Protocol):
    """A job whose next epochs can run without the host."""

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""

    def launch(self) -> None:
        """Start the next epochs."""

    def advance(self) -> object:
        """Wait for them."""


J = TypeVar("J", bound=Launchable)


def side_by_side(starts: Iterable[Callable[[], J]]) -> list[J]:
    """Run jobs to their end, several at a time, each on its own stream; returned in order.

    In rounds: all that run are launched before the first is waited for.
    """
    waiting, jobs, running = deque(starts), list[J](), list[J]()
    while waiting or running:
        while waiting and len(running) < CONCURRENT:
            jobs.append(waiting.popleft()())
            running.append(jobs[-1])
        for job in running:
            job.launch()
        for job in running:
            job.advance()
        running = [job for job in running if not job.done]
    return jobs


def train_parallel(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Train every candidate, several in parallel; each gives the same result as alone (on one CPU thread)."""
    run = _on_gpu if Backend.of(problem.graph).accelerated else _on_cpu
    return run(problem, candidates, settings)


def _on_gpu(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Each training replays its epochs on its own stream."""
    return side_by_side(partial(Training, problem, metagraphs, settings, seed) for metagraphs, seed in candidates)


def _on_cpu(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """One training per core: products of this size gain little from several cores."""
    threads = torch.get_num_threads()

    def run(candidate: Candidate) -> Training:
        torch.set_num_threads(1)
        training = Training(problem, candidate[0], settings, candidate[1])
        while not training.done:
            training.advance()
        return training

    try:
        with ThreadPoolExecutor(min(threads, len(candidates)) or 1) as pool:
            return list(pool.map(run, candidates))
    finally:
        torch.set_num_threads(threads)
