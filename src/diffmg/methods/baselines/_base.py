"""What every baseline offers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from torch import nn

from diffmg.core import DiffmgError, MetaGraph, Method, Settings
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


class Baseline(Method):
    """A rival: frozen options and a network of its own; it searches for nothing."""

    family = "baseline"

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also the heads, where it has any, must share out the columns."""
        super().check(problem, settings)
        heads = getattr(self, "heads", 1)
        if settings.dim % heads:
            raise DiffmgError(
                f"`dim` must be a multiple of `heads`, but got dim={settings.dim} and heads={heads}; change one of them"
            )

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
