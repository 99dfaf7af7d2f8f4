"""How many epochs a new candidate can be given, where time is short."""

from __future__ import annotations

import random
import time

import torch

from diffmg.core import derive_seed
from diffmg.core.candidate import Candidate, CandidateSpace
from diffmg.engine.backend import Backend
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import training_of
from diffmg.training.training import ModelTraining

CANDIDATES = 16
"""Candidates that a budget should be able to judge."""
LEAST = 5
SAMPLES = 3


def explore_epochs(problem: Problem, space: CandidateSpace, seconds: float, seed: int) -> int | None:
    """Most epochs of a training that explores; None where whole trainings are short enough."""
    if Backend.of(problem.graph).accelerated:
        return None
    rng, each, longest = random.Random(derive_seed(seed, "probe")), 0.0, 1
    for _ in range(SAMPLES):
        candidate = space.draw(rng)
        longest = max(longest, candidate.settings.max_epochs)
        each = max(each, _seconds_per_epoch(problem, candidate, seed))
        if each * longest > seconds:
            break
    workers = min(torch.get_num_threads(), CANDIDATES)
    most = int(seconds / 2 / CANDIDATES * workers / max(each, 1e-9))
    return None if most >= longest else max(LEAST, most)


def _seconds_per_epoch(problem: Problem, candidate: Candidate, seed: int) -> float:
    """Of a candidate that is trained by gradients, without a search; 0 for any other."""
    method, settings = candidate.method, candidate.settings
    search = method.search(problem, settings, seed)
    if not search.done:
        return 0.0
    training = training_of(problem, method.network(problem, settings, seed, search.found()), settings, seed)
    if not isinstance(training, ModelTraining):
        return 0.0
    training.advance()
    begun = time.perf_counter()
    training.advance()
    return time.perf_counter() - begun
