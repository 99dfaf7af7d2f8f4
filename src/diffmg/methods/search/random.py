"""A meta graph drawn at random: what any search must beat."""

from __future__ import annotations

import random
from dataclasses import dataclass

from diffmg.core.settings import Settings
from diffmg.engine.randomness import derive_seed
from diffmg.methods.search._base import STRATEGIES, Immediate, Search, Strategy, spaces_of
from diffmg.tasks.problem import Problem


@STRATEGIES.add("random")
@dataclass(frozen=True)
class RandomMetaGraph(Strategy):
    """One operation a link, uniformly from the search space. Several search seeds make it random search."""

    summary = "a meta graph drawn uniformly from the search space"
    searches = False

    def start(self, problem: Problem, depth: int, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Draw one meta graph per target type."""
        rng = random.Random(derive_seed(seed, "random"))
        return Immediate(tuple(space.sample(rng) for space in spaces_of(problem, depth)))
