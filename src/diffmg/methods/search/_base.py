"""What methods share that search the paper's space of meta graphs."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.core.options import check_rules, check_types
from diffmg.core.space import SearchSpace
from diffmg.methods._metagraph import MetaGraphMethod
from diffmg.tasks.problem import Problem


@dataclass(frozen=True)
class SearchMethod(MetaGraphMethod):
    """Options that each of them has."""

    depth: int = 4
    """K, the number of states of a meta graph."""
    search_seeds: int = 3
    """Searches, each from another seed; what they find is trained, and validation chooses."""

    needs_search_memory = True

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, self.rules())

    def rules(self) -> dict[str, bool]:
        """What must hold, as formulas."""
        return {"depth >= 1": self.depth >= 1, "search_seeds >= 1": self.search_seeds >= 1}

    @property
    def searches(self) -> int:
        """As many as there are seeds."""
        return self.search_seeds


def spaces_of(problem: Problem, depth: int, identity_last: bool = False) -> tuple[SearchSpace, ...]:
    """The paper's search space for each target type of the task."""
    return tuple(SearchSpace.dag(problem.graph.schema, t, depth, identity_last) for t in problem.task.target_types)
