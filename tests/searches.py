"""Small searches for tests."""

from __future__ import annotations

import torch

from diffmg.core.space import SearchSpace
from diffmg.methods.search._gradient import Architecture
from diffmg.methods.search.diffmg import DiffMG, DiffMGSearch
from diffmg.tasks.problem import Problem

DEPTH, DIM = 2, 6


def search_of(problem: Problem, seed: int = 0, **options) -> DiffMGSearch:
    return DiffMGSearch(DiffMG(**options), problem, DEPTH, DIM, seed)


def architecture_of(problem: Problem, depth: int = 3, seed: int = 0) -> Architecture:
    space = SearchSpace.dag(problem.graph.schema, problem.task.target_types[0], depth)
    return Architecture(space, torch.Generator().manual_seed(seed), torch.device("cpu"))
