"""The contract of a method: what turns a problem into a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.options import Checked, check_names
from diffmg.core.registry import Registry
from diffmg.core.settings import Settings

if TYPE_CHECKING:
    from torch import nn

    from diffmg.tasks.problem import Problem
    from diffmg.training.job import Search


class Method(Checked, ABC):
    """Frozen options, a search, and a network for what the search found.

    Every method goes the same way through a run: `searches` searches, each from a seed of its own; the network of what
    each found is trained; validation chooses. A method that searches for nothing finds `()` at once.
    """

    summary: ClassVar[str]
    """One line for listings."""
    family: ClassVar[str]
    """How listings group it: `search`, `baseline`, `given`."""
    towers: ClassVar[tuple[int, ...]] = (1, 2)
    """The numbers of target types it can serve: 1 for labels of nodes, 2 for pairs of users and items."""
    tunable: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Options that tuning may choose, beside the settings every method has, with the values it may try."""
    has_metagraph: ClassVar[bool] = False
    """Whether its model is that of a meta graph, which a person can look at."""
    needs_search_memory: ClassVar[bool] = False
    """Whether its search holds states and weights of its own."""

    @property
    def searches(self) -> int:
        """How often it searches, each time from another seed."""
        return 1

    @property
    def depth(self) -> int:
        """K, the states of the deepest meta graph it may find; 0 where it has none."""
        return 0

    @property
    def name(self) -> str:
        """The name it is registered under."""
        return METHODS.name_of(type(self))

    def spec(self) -> MethodSpec:
        """The method by name, with the options that differ from their defaults."""
        usual = {f.name: f.default for f in fields(self)}  # type: ignore[arg-type]
        given = {name: getattr(self, name) for name in usual}
        return MethodSpec(self.name, to_plain({name: v for name, v in given.items() if v != usual[name]}))

    def check(self, problem: Problem, settings: Settings) -> None:  # noqa: ARG002
        """Raise, before anything is computed, if the method cannot do the task, or not with these settings."""
        number = len(problem.task.target_types)
        if number not in self.towers:
            able = [name for name, kind in METHODS.items() if number in kind.towers]
            raise DiffmgError(
                f"{self.name!r} serves {' or '.join(map(str, self.towers))} target types, but got a task on "
                f"{', '.join(problem.task.target_types)}; methods that can do it: {', '.join(able)}"
            )

    @abstractmethod
    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A search for meta graphs, one per target type; `settings` is how what it finds will be trained."""

    @abstractmethod
    def network(
        self, problem: Problem, settings: Settings, seed: int, metagraphs: Sequence[MetaGraph] = ()
    ) -> nn.Module:
        """A fresh network for what a search found, on the problem's device; it follows from the seed alone.

        It is called as `network(graph, generator=None)` and gives what the task scores: logits of the labelled type,
        or the representations of users and of items. It draws dropout from `generator` alone.
        """


METHODS: Registry[type[Method]] = Registry(
    "method", "diffmg.methods.search", "diffmg.methods.baselines", "diffmg.methods.given", group="diffmg.methods"
)


@dataclass(frozen=True)
class MethodSpec:
    """A method by name with its options, as files and the command line write it. Imports nothing of the method."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Method:
        """The method; unknown names and options raise with the nearest."""
        kind = METHODS.get(self.name)
        check_names(self.options, kind, f"option of method {self.name!r}:")
        return from_plain(kind, dict(self.options), f"method {self.name!r}")
