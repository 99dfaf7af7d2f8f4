"""What methods share that search the paper's space of meta graphs."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.core import Count, SearchSpace
from diffmg.methods._metagraph import MetaGraphMethod
from diffmg.tasks.problem import Problem


@dataclass(frozen=True)
class SearchMethod(MetaGraphMethod):
    """Options that each of them has."""

    depth: Count = 4
    """K, the number of states of a meta graph."""
    search_seeds: Count = 3
    """Searches, each from another seed; what they find is trained, and validation chooses."""

    needs_search_memory = True

    @property
    def searches(self) -> int:
        """As many as there are seeds."""
        return self.search_seeds


def spaces_of(problem: Problem, depth: int, identity_last: bool = False) -> tuple[SearchSpace, ...]:
    """The paper's search space for each target type of the task."""
    return tuple(SearchSpace.dag(problem.graph.schema, t, depth, identity_last) for t in problem.task.target_types)
