"""What every strategy offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.metagraph import MetaGraph
from diffmg.core.registry import Registry
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Job


class Search(Job):
    """A job that looks for meta graphs, one per target type of the task."""

    @abstractmethod
    def found(self) -> tuple[MetaGraph, ...]:
        """The meta graphs the search would return now."""


class Strategy(ABC):
    """Frozen options and a way to start a search."""

    summary: str
    """One line for listings."""
    searches: bool = True
    """Whether looking for the answer takes memory of its own."""

    @abstractmethod
    def start(self, problem: Problem, depth: int, settings: Settings, seed: int) -> Search:
        """A search for meta graphs of `depth` states; `settings` is how candidates would be trained."""


@dataclass
class Immediate(Search):
    """A search that has its answer before it starts."""

    metagraphs: tuple[MetaGraph, ...]
    total: int = 0

    def found(self) -> tuple[MetaGraph, ...]:
        """The answer."""
        return self.metagraphs

    def advance(self) -> Sequence[Epoch]:
        """Never called: there is nothing to do."""
        raise DiffmgError(f"a finished search has no more epochs, but got a call at epoch {self.epoch}")

    def tensors(self) -> dict[str, Tensor]:
        """No state."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """No state."""
        return {}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Nothing to restore."""


STRATEGIES: Registry[type[Strategy]] = Registry("strategy", "diffmg.methods.search")


def make_strategy(name: str, options: Mapping[str, Any] | None = None) -> Strategy:
    """The strategy `name` with these options; unknown options raise."""
    kind = STRATEGIES.get(name)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for option in options or {}:
        if option not in known:
            raise unknown(f"option of strategy {name!r}:", option, known)
    return kind(**(options or {}))


def known_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that the strategy `name` has."""
    known = {f.name for f in fields(STRATEGIES.get(name))}  # type: ignore[arg-type]
    return {option: value for option, value in options.items() if option in known}


def spaces_of(problem: Problem, depth: int, identity_last: bool = False) -> tuple[SearchSpace, ...]:
    """The paper's search space for each target type of the task."""
    return tuple(SearchSpace.dag(problem.graph.schema, t, depth, identity_last) for t in problem.task.target_types)
