"""What every baseline offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from torch import nn

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.registry import Registry
from diffmg.core.settings import Settings
from diffmg.tasks import NodeClassification, Recommendation, Task
from diffmg.tasks.problem import Problem


class Baseline(ABC):
    """Frozen options and a way to build a model.

    A model is called as `model(graph, generator=None)` and gives what the task scores: logits of the labelled type, or
    the representations of users and of items. It draws dropout from `generator` alone.
    """

    summary: str
    """One line for listings."""
    tasks: ClassVar[tuple[type[Task], ...]] = (NodeClassification, Recommendation)
    """What it can do."""
    tunable: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Options that tuning may choose, beside those every method has, with the values it may try."""

    @abstractmethod
    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh model for a problem and settings that were checked; its parameters follow from the seed alone."""

    def build(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh model on the problem's device, once the method is known to be able to do the task."""
        self.check(problem, settings)
        return self.model(problem, settings, seed).to(problem.graph.device)

    def check(self, problem: Problem, settings: Settings) -> None:  # noqa: ARG002
        """Raise, before anything is computed, if the method cannot do the task, or not with these settings."""
        if not isinstance(problem.task, self.tasks):
            name = BASELINES.name_of(type(self))
            can = " or ".join(t.__name__ for t in self.tasks)
            raise DiffmgError(f"{name!r} can do {can}, but got {type(problem.task).__name__}; see `diffmg list`")


BASELINES: Registry[type[Baseline]] = Registry("baseline", "diffmg.methods.baselines")


def make_baseline(name: str, options: Mapping[str, Any] | None = None) -> Baseline:
    """The baseline `name` with these options; unknown options raise."""
    kind = BASELINES.get(name)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for option in options or {}:
        if option not in known:
            raise unknown(f"option of baseline {name!r}:", option, known)
    return kind(**(options or {}))


def check_heads(dim: int, heads: int) -> None:
    """Raise if the columns cannot be shared out to the heads."""
    if dim % heads:
        raise DiffmgError(
            f"`dim` must be a multiple of `heads`, but got dim={dim} and heads={heads}; change one of them"
        )
