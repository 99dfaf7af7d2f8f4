"""Training many candidates in parallel."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from diffmg.core import MetaGraph, Settings
from diffmg.engine.backend import Backend
from diffmg.tasks.problem import Problem
from diffmg.training.training import Training

CONCURRENT = 8
"""Trainings that share a GPU: one alone does not fill it."""

Candidate = tuple[Sequence[MetaGraph], int]
"""Meta graphs and a seed."""


def train_parallel(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Train every candidate, several in parallel; each gives the same result as alone (on one CPU thread)."""
    run = _on_gpu if Backend.of(problem.graph).accelerated else _on_cpu
    return run(problem, candidates, settings)


def _on_gpu(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Each training replays its epochs on its own stream."""
    waiting = list(enumerate(candidates))[::-1]
    running: dict[int, Training] = {}
    finished: dict[int, Training] = {}
    while waiting or running:
        while waiting and len(running) < CONCURRENT:
            number, (metagraphs, seed) = waiting.pop()
            running[number] = Training(problem, metagraphs, settings, seed)
        for training in running.values():
            training.launch()
        for number, training in list(running.items()):
            training.advance()
            if training.done:
                finished[number] = running.pop(number)
    return [finished[number] for number in range(len(candidates))]


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
