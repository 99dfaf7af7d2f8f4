"""A random meta graph: the baseline for any search."""

import random
from dataclasses import dataclass

from diffmg.core import METHODS, Settings, derive_seed
from diffmg.methods.search._base import SearchMethod, spaces_of
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("random")
@dataclass(frozen=True)
class RandomMetaGraph(SearchMethod):
    """One operation per link, uniform over the search space. With several search seeds this is random search."""

    summary = "a meta graph drawn uniformly from the search space"
    needs_search_memory = False

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Draw one meta graph per target type."""
        rng = random.Random(derive_seed(seed, "random"))
        return Immediate(tuple(space.sample(rng) for space in spaces_of(problem, self.depth)))
