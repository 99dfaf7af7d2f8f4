"""No network at all: the target's own features."""

from dataclasses import dataclass

from diffmg.core import METHODS, MetaGraph, Settings
from diffmg.methods.search._base import MetaGraphMethod
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("features")
@dataclass(frozen=True)
class FeaturesOnly(MetaGraphMethod):
    """The meta graph with one identity link: what the network must add to."""

    summary = "no relations: the target's own features only"
    depth = 1

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Nothing to look for."""
        return Immediate(tuple(MetaGraph.features_only(t) for t in problem.task.target_types))
