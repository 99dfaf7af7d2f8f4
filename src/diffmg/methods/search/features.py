"""No edges: the target's own features only."""

from dataclasses import dataclass

from diffmg.core import METHODS, MetaGraph, Settings
from diffmg.methods.search._base import MetaGraphMethod
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("features")
@dataclass(frozen=True)
class FeaturesOnly(MetaGraphMethod):
    """The meta graph with one identity link: the baseline without edges."""

    summary = "no relations: the target's own features only"
    depth = 1
    needs_relations = False

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """No search: finishes at once."""
        return Immediate(tuple(MetaGraph.features_only(t) for t in problem.task.target_types))
