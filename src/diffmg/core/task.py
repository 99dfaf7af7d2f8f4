"""The contract of a task: what is predicted, on which split, how it is scored, read from tables and told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from diffmg.core.options import Checked
from diffmg.core.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from diffmg.graph.network import HeteroGraph
    from diffmg.tables.description import Description
    from diffmg.tables.export import TablesOut
    from diffmg.tables.network import Network
    from diffmg.tasks.answers import Answers

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = ("train", "val", "test")
Direction = Literal["max", "min"]


class Task(ABC):
    """Nobody but the task's own file knows its class: all else goes through these methods."""

    kind: ClassVar[str]
    """The name it is registered under."""
    summary: ClassVar[str]
    """One line for listings."""
    metrics: ClassVar[Mapping[str, Direction]]
    """The scores that may choose, and whether more or less of them is better."""
    verb: ClassVar[Literal["predict", "recommend"]]
    """What its model is asked to do, which is also the command."""
    estimator: ClassVar[str]
    """The class in `diffmg.estimators` that serves it."""
    spec: ClassVar[type[TaskSpec]]
    """The `[task]` of a description."""
    metric: str
    """The score that chooses."""

    @property
    @abstractmethod
    def target_types(self) -> tuple[str, ...]:
        """One meta graph is searched for each of these."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Columns of the linear head after the encoder; 0 for none."""

    @abstractmethod
    def size(self, part: Part) -> int:
        """How many labelled nodes or pairs a part has."""

    @abstractmethod
    def check(self, graph: HeteroGraph) -> None:
        """Raise if the task does not fit the network or its answers can be read off it."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same task with its tensors elsewhere."""

    @abstractmethod
    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> Self:
        """The same task on a network whose node j of a type was node `orders[type][j]`; other types stay."""

    @abstractmethod
    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The training loss on a part of the split."""

    @abstractmethod
    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Scores cheap enough for every epoch; empty where the part is."""

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the score that chooses, sharing what they can."""
        return self.loss(outputs, part), self.scores(outputs, part)[self.metric]

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """All scores, those that are computed once a run included."""
        return self.scores(outputs, part)

    @property
    def sign(self) -> int:
        """1 where more of the score that chooses is better, -1 where less is."""
        return 1 if self.metrics[self.metric] == "max" else -1

    @abstractmethod
    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """What the model says about these ids (all where none are given), as columns with the user's ids."""

    @abstractmethod
    def counts(self) -> dict[str, dict[str, int]]:
        """Labelled nodes or pairs of each class, by part."""

    @abstractmethod
    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Hashes or plain words for each thing that decides a score; nodes are taken in `order`, type by type."""

    def describe(self) -> str:
        """The task in a line."""
        parts = ", ".join(f"{part} {self.size(part)}" for part in PARTS)
        return f"{self.kind} of {' and '.join(self.target_types)}; {parts}; chosen by {self.metric}"

    @abstractmethod
    def export(self, tables: TablesOut) -> TaskSpec:
        """Add columns or rows to the tables of a network, and say how to read the task from them."""

    @abstractmethod
    def with_other_test_labels(self) -> Self:
        """The same task with other labels in its test part, for the check that nobody reads them."""


TASKS: Registry[type[Task]] = Registry("task", "diffmg.tasks", group="diffmg.tasks")


@dataclass(frozen=True)
class Reading:
    """What reading a task from tables gave."""

    task: Task
    kept: Mapping[str, NDArray[np.bool_]]
    """Per relation of the description, the edges that stay in the network; relations not named keep all."""
    notes: tuple[str, ...] = ()


class TaskSpec(Checked, ABC):
    """The `[task]` of a description: a frozen value with the names of columns, relations and settings."""

    held_back: tuple[str, ...] = ()
    """Columns that would tell the answer: no features, and not read."""

    @classmethod
    @abstractmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """Whether a `[task]` that does not say its kind is one of these."""

    @abstractmethod
    def check(self, description: Description) -> None:
        """Raise if it names a node type or a relation that is not described, or a label that is a feature."""

    @abstractmethod
    def columns(self, description: Description) -> dict[str, set[str]]:
        """Per table the columns it reads for itself, which are no features."""

    @abstractmethod
    def read(self, tables: Network) -> Reading:
        """The task, from the tables of a network."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The task in words."""
