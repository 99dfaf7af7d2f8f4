"""What every baseline offers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from torch import nn

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import Method
from diffmg.core.settings import Settings
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


class Baseline(Method):
    """A rival: frozen options and a network of its own; it searches for nothing."""

    family = "baseline"

    @abstractmethod
    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh network for a problem and settings that were checked; its parameters follow from the seed alone."""

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Nothing to look for."""
        return Immediate(())

    def network(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        metagraphs: Sequence[MetaGraph] = (),  # noqa: ARG002
    ) -> nn.Module:
        """A fresh network on the problem's device, once the method is known to be able to do the task."""
        self.check(problem, settings)
        return self.model(problem, settings, seed).to(problem.graph.device)


def check_heads(dim: int, heads: int) -> None:
    """Raise if the columns cannot be shared out to the heads."""
    if dim % heads:
        raise DiffmgError(
            f"`dim` must be a multiple of `heads`, but got dim={dim} and heads={heads}; change one of them"
        )
