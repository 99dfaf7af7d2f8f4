"""A meta graph drawn at random: what any search must beat."""

import random
from dataclasses import dataclass

from diffmg.core import METHODS, Settings, derive_seed
from diffmg.methods.search._base import SearchMethod, spaces_of
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("random")
@dataclass(frozen=True)
class RandomMetaGraph(SearchMethod):
    """One operation a link, uniformly from the search space. Several search seeds make it random search."""

    summary = "a meta graph drawn uniformly from the search space"
    needs_search_memory = False

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Draw one meta graph per target type."""
        rng = random.Random(derive_seed(seed, "random"))
        return Immediate(tuple(space.sample(rng) for space in spaces_of(problem, self.depth)))
