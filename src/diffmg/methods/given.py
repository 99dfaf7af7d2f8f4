"""Given meta graphs: a person's, a file's, the paper's authors'."""

from dataclasses import dataclass

from diffmg.core import METHODS, MetaGraph, Settings
from diffmg.methods.search._base import MetaGraphMethod
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("given")
@dataclass(frozen=True)
class Given(MetaGraphMethod):
    """Trains these meta graphs, one per target type, without a search."""

    metagraphs: tuple[MetaGraph, ...] = ()

    summary = "given meta graphs, no search: --metagraph FILE or 'published'"
    family = "given"

    @property
    def depth(self) -> int:
        """K of the deepest."""
        return max((m.depth for m in self.metagraphs), default=0)

    def check(self, problem: Problem, settings: Settings) -> None:
        """There must be one for each target type, and the network must have its relations."""
        super().check(problem, settings)
        problem.arranged(self.metagraphs)

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Nothing to look for."""
        return Immediate(problem.arranged(self.metagraphs))
