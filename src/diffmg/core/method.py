"""The interface of a method, which turns a problem into a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from diffmg.core.candidate import PROPOSERS, VARIED, Candidate, CandidateSpace, OptionSpace, balances
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

    Every run has the same stages: `searches` searches, each with its own seed; one training for each search result;
    selection by validation score. A method without a search returns `()` at once.
    """

    summary: ClassVar[str]
    """One line for listings."""
    family: ClassVar[str]
    """How listings group it: `search`, `baseline`, `given`."""
    towers: ClassVar[tuple[int, ...]] = (1, 2)
    """The numbers of target types it can serve: 1 for labels of nodes, 2 for pairs of users and items."""
    tunable: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Tunable options and the values to try, in addition to the settings every method has."""
    has_metagraph: ClassVar[bool] = False
    """Whether its model is built from a meta graph, which can be drawn."""
    needs_search_memory: ClassVar[bool] = False
    """Whether its search needs memory for states and weights of its own."""
    varied_settings: ClassVar[Mapping[str, tuple[Any, ...]]] = VARIED
    """Settings that a race with a budget varies, and the values to try."""
    default_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings it needs instead of the package's defaults in order to train at all."""
    on_host: ClassVar[bool] = False
    """Whether its models are fitted at once by the CPU, wherever the network lies."""
    races: ClassVar[bool] = False
    """Whether it is only run as a race within a budget."""
    timed: ClassVar[bool] = False
    """Whether it hears along edges as they are and nothing else, so that no later row reaches a prediction."""

    @property
    def searches(self) -> int:
        """Number of searches, each with a different seed."""
        return 1

    @property
    def depth(self) -> int:
        """K, the depth of the deepest meta graph it may find; 0 for methods without one."""
        return 0

    @property
    def proposers(self) -> tuple[str, ...]:
        """Who proposes the candidates of a race, by turns."""
        return PROPOSERS

    @property
    def name(self) -> str:
        """The name it is registered under."""
        return METHODS.name_of(type(self))

    def spec(self) -> MethodSpec:
        """The method's name and the options that differ from their defaults."""
        defaults = {f.name: f.default for f in fields(self)}  # type: ignore[arg-type]
        given = {name: getattr(self, name) for name in defaults}
        return MethodSpec(self.name, to_plain({name: v for name, v in given.items() if v != defaults[name]}))

    def check(self, problem: Problem, settings: Settings) -> None:
        """Raise, before anything is computed, if the method does not support the task or these settings."""
        problem.task.evened(settings.balance)
        number = len(problem.task.target_types)
        if number not in self.towers:
            capable = [name for name, kind in METHODS.items() if number in kind.towers]
            raise DiffmgError(
                f"{self.name!r} serves {' or '.join(map(str, self.towers))} target types, but got a task on "
                f"{', '.join(problem.task.target_types)}; methods that can do it: {', '.join(capable)}"
            )
        if problem.graph.timed and not self.timed:
            capable = [name for name, kind in METHODS.items() if kind.timed and number in kind.towers]
            raise DiffmgError(
                f"{self.name!r} reads the whole network at once, later rows too, but got a network with times; "
                f"methods that hear only what was there before: {', '.join(capable)}"
            )

    def is_cheap(self, problem: Problem) -> bool:  # noqa: ARG002
        """Whether it takes about as long as a training of any other method on a problem of this size."""
        return True

    def space(self, problem: Problem, settings: Settings) -> CandidateSpace:
        """What a race with a budget may try in its place: other values of its options and settings.

        A setting that differs from the method's default was chosen by the user, and is not varied.
        """
        usual = Settings(**self.default_settings)
        varied = {**self.varied_settings, **balances(problem)}
        free = {n: v for n, v in varied.items() if getattr(settings, n) == getattr(usual, n)}
        return OptionSpace(Candidate(self, settings), self.tunable_on(problem), free)

    def tunable_on(self, problem: Problem) -> Mapping[str, tuple[Any, ...]]:  # noqa: ARG002
        """Its tunable options and the values to try on a problem of this size."""
        return self.tunable

    @abstractmethod
    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A search for meta graphs, one per target type; `settings` are those its result will be trained with."""

    @abstractmethod
    def network(
        self, problem: Problem, settings: Settings, seed: int, metagraphs: Sequence[MetaGraph] = ()
    ) -> nn.Module:
        """A new network for a search result, on the problem's device, initialized from the seed alone.

        Its forward pass `network(graph, generator=None)` returns what the task scores: logits of the labelled type, or
        the embeddings of users and of items. Dropout is drawn from `generator` only.
        """


METHODS: Registry[type[Method]] = Registry(
    "method",
    "diffmg.methods.search",
    "diffmg.methods.baselines",
    "diffmg.methods.given",
    "diffmg.methods.auto",
    "diffmg.methods.ensemble",
    group="diffmg.methods",
)


@dataclass(frozen=True)
class MethodSpec:
    """A method's name and options, as written in files and on the command line; does not import the method."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Method:
        """Build the method; errors for unknown names and options suggest the nearest known one."""
        kind = METHODS.get(self.name)
        check_names(self.options, kind, f"option of method {self.name!r}:")
        return from_plain(kind, dict(self.options), f"method {self.name!r}")
