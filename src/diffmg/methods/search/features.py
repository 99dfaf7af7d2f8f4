"""No network at all: the target's own features."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.core.metagraph import MetaGraph
from diffmg.core.settings import Settings
from diffmg.methods.search._base import STRATEGIES, Immediate, Search, Strategy
from diffmg.tasks.problem import Problem


@STRATEGIES.add("features")
@dataclass(frozen=True)
class FeaturesOnly(Strategy):
    """The meta graph with one identity link: what the network must add to."""

    summary = "no relations: the target's own features only"
    searches = False

    def start(self, problem: Problem, depth: int, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Nothing to look for."""
        return Immediate(tuple(MetaGraph.features_only(t) for t in problem.task.target_types))
