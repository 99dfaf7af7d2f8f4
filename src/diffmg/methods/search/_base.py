"""Base classes of methods whose model is a meta graph, and of those that search the paper's space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from diffmg.core import Count, Depth, DiffmgError, MetaGraph, Method, SearchSpace, Settings
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model


class MetaGraphMethod(Method):
    """A method whose network is the encoder of the meta graphs it found."""

    family = "search"
    has_metagraph = True
    timed = True
    needs_relations: ClassVar[bool] = True
    """Whether relations must lead to the target types, or there is nothing to choose from."""

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require candidates, and a task that the settings' switches have a meaning for."""
        super().check(problem, settings)
        if self.needs_relations:
            spaces_of(problem, 1)
        pairs = len(problem.task.target_types) == 2
        if settings.label_inputs and problem.graph.engine.storage != "float32":
            raise DiffmgError(
                "`label_inputs` needs states in float32, or a node could hear its own label by rounding, "
                f"but got storage={problem.graph.engine.storage!r}; leave one of the two out"
            )
        meaning = {"label_inputs": problem.task.known_labels() is not None, "biases": pairs, "shared_tables": pairs}
        for name, holds in meaning.items():
            if getattr(settings, name) and not holds:
                kind = "labels of nodes" if name == "label_inputs" else "pairs of users and items"
                raise DiffmgError(f"`{name}` is for {kind}, but got a task that is not: {problem.task.describe()}")

    def network(
        self, problem: Problem, settings: Settings, seed: int, metagraphs: Sequence[MetaGraph] = ()
    ) -> nn.Module:
        """The encoder of these meta graphs, one per target type."""
        return build_model(problem, metagraphs, settings, seed)


@dataclass(frozen=True)
class SearchMethod(MetaGraphMethod):
    """Options common to all search methods."""

    depth: Depth = 4
    """K, the number of states of a meta graph."""
    search_seeds: Count = 3
    """Number of searches with different seeds; their results are trained and the best on validation is selected."""

    needs_search_memory = True

    @property
    def searches(self) -> int:
        """One per search seed."""
        return self.search_seeds


def spaces_of(problem: Problem, depth: int, identity_last: bool = False) -> tuple[SearchSpace, ...]:
    """The paper's search space for each target type of the task."""
    return tuple(SearchSpace.dag(problem.graph.schema, t, depth, identity_last) for t in problem.task.target_types)
