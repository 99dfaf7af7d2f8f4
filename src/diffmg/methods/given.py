"""Given meta graphs: hand-written, from a file, or published by the paper's authors."""

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
    needs_relations = False

    @property
    def depth(self) -> int:
        """The largest K among the meta graphs."""
        return max((m.depth for m in self.metagraphs), default=0)

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require one meta graph per target type, with relations that the network has."""
        super().check(problem, settings)
        problem.arranged(self.metagraphs)

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """No search: finishes at once."""
        return Immediate(problem.arranged(self.metagraphs))
