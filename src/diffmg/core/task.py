"""The interface of a task: what is predicted, the split, the scores, and how it is read from tables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from diffmg.core.details import Details
from diffmg.core.errors import DiffmgError
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
    from diffmg.tasks.resampling import Resampled

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = ("train", "val", "test")
Direction = Literal["max", "min"]
RESAMPLES = 400
"""Resamples of a part, at most, to see how much a score depends on its examples."""


def error_of_share(score: float, count: float) -> float:
    """The standard error of a score that is a share of `count` examples; 0 for a score that is none.

    A perfect score has that of one example less: nothing is sure because a few examples have no error.
    """
    count = max(1, count)
    edge = min(0.5, 1 / count)
    share = min(max(score, edge), 1 - edge)
    return math.sqrt(share * (1 - share) / count) if 0 <= score <= 1 else 0.0


class Task(ABC):
    """Other modules use a task only through these methods, never through its concrete class."""

    kind: ClassVar[str]
    """The name it is registered under."""
    summary: ClassVar[str]
    """One line for listings."""
    metrics: ClassVar[Mapping[str, Direction]]
    """Metrics that may be used for selection, and whether higher or lower is better."""
    verb: ClassVar[Literal["predict", "recommend"]]
    """The command that uses its model."""
    estimator: ClassVar[str]
    """Name of its class in `diffmg.estimators`."""
    spec: ClassVar[type[TaskSpec]]
    """The class of its `[task]` table in a description."""
    numeric: ClassVar[bool] = False
    """Whether outputs are the numbers that are predicted, so that a network must not normalise them."""
    rivals: ClassVar[tuple[str, ...]] = ()
    """Cheap methods to set beside a model, the most telling first; the first two that serve a problem are trained."""
    metric: str
    """The metric used for selection."""

    @property
    @abstractmethod
    def target_types(self) -> tuple[str, ...]:
        """The node types the task predicts; one meta graph is searched for each."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Output columns of the linear head after the encoder; 0 for no head."""

    @abstractmethod
    def size(self, part: Part) -> int:
        """The number of labelled nodes or pairs in a part."""

    @abstractmethod
    def check(self, graph: HeteroGraph) -> None:
        """Raise if the task does not fit the network, or if the network leaks its labels."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same task with its tensors on another device."""

    @abstractmethod
    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> Self:
        """The same task after reordering: node j of a type was node `orders[type][j]`; other types are unchanged."""

    @abstractmethod
    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The training loss on a part of the split."""

    @property
    def uneven(self) -> bool:
        """Whether its classes are so unequal that evening them out may serve its metric."""
        return False

    def evened(self, balance: float) -> Self:
        """The same task with classes weighing as 1 / n ** balance in its loss; 0 changes nothing."""
        if balance:
            what = f"balance={balance:g} for {self.describe()}"
            raise DiffmgError(f"`balance` evens classes out, but got {what}; leave it out")
        return self

    def training_loss(self, outputs: tuple[Tensor, ...], epoch: Tensor, seed: int) -> Tensor:  # noqa: ARG002
        """The loss of one epoch of training; a task that draws something draws it by seed and epoch."""
        return self.loss(outputs, "train")

    @abstractmethod
    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Scores cheap enough to compute every epoch; empty if the part is empty."""

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the selection metric, sharing intermediate results."""
        return self.loss(outputs, part), self.scores(outputs, part)[self.metric]

    def follow(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Loss and selection metric on validation after an epoch of training, to find the best one; may be a sample."""
        return self.evaluate(outputs, "val")

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """All scores, including those computed only once per run."""
        return self.scores(outputs, part)

    def details(self, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:  # noqa: ARG002
        """What a report shows of answers beside their scores; None where there is nothing."""
        return None

    def resampled(self, outputs: tuple[Tensor, ...], part: Part) -> Resampled | None:
        """The selection metric of outputs on resamples of a part; by default that of their votes."""
        return self.resample_votes(self.votes(outputs, part), part)

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:  # noqa: ARG002
        """What the models of an ensemble average on a part, one row per example."""
        return outputs[0]

    def dealt(self, votes: Tensor, draw: torch.Generator) -> Tensor:
        """Votes of chance alone: the same ones, dealt out to examples at random."""
        from torch import randperm

        return votes[randperm(len(votes), generator=draw)]

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of averaged votes."""
        return self.evaluate((votes,), part)[1]

    def resample_votes(self, votes: Tensor, part: Part, most: int = RESAMPLES) -> Resampled | None:  # noqa: ARG002
        """The selection metric of votes on at most so many resamples of a part, which are the same for any votes.

        None where the task cannot be resampled.
        """
        return None

    def vote_scale(self, votes: Tensor) -> float:  # noqa: ARG002
        """The factor that makes one model's votes comparable with another's."""
        return 1.0

    def vote_calibration(self, votes: Tensor, part: Part) -> float:  # noqa: ARG002
        """The factor that makes averaged votes as sure as they should be."""
        return 1.0

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """The outputs of an ensemble: their votes are the weighted sum of its members' votes."""
        return tuple(
            sum(w * z for w, z in zip(weights, several, strict=True)) for several in zip(*outputs, strict=True)
        )

    def standard_error(self, score: float) -> float:
        """Of a validation score: by default that of a share of the examples; 0 for any other."""
        return error_of_share(score, self.size("val"))

    def blind_votes(self, part: Part) -> Tensor | None:  # noqa: ARG002
        """Votes that know nothing of a node, which a model must beat; None to compare with its own, dealt out."""
        return None

    @property
    def blind_words(self) -> str:
        """What `blind_votes` are, for a person."""
        return ""

    def folds(self, count: int, seed: int) -> Folds | None:  # noqa: ARG002
        """Training and validation examples reshuffled into folds; None where the task has no folds."""
        return None

    def joined(self, *, test: bool = False) -> Task | None:  # noqa: ARG002
        """The task with validation examples (and test ones) in training too; None where that has no meaning."""
        return None

    def known_labels(self) -> Tensor | None:
        """The labels of training nodes as inputs, (n, columns), zero for all other nodes; None without labels."""
        return None

    def linear_outputs(self, fitted: Tensor) -> tuple[Tensor, ...]:
        """Outputs from a linear model of `known_labels`, (n, columns): by default logits that are fairly sure."""
        return (8 * fitted,)

    def examples(self) -> Examples | None:
        """The labels of training and validation, for the search for leaks; None where there is none for the task."""
        return None

    @property
    def sign(self) -> int:
        """1 if higher is better for the selection metric, else -1."""
        return 1 if self.metrics[self.metric] == "max" else -1

    @abstractmethod
    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """Predictions for these ids (default: all), as columns with the user's ids."""

    def stream(
        self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any
    ) -> Iterator[Answers]:
        """`answers` in one or several blocks, for tasks whose answers may not fit into memory."""
        yield self.answers(outputs, graph, ids, **options)

    def answer_of(self, outputs: tuple[Tensor, ...], nodes: tuple[int, ...]) -> tuple[Tensor, str]:  # noqa: ARG002
        """The number that an explanation explains, and the answer in words.

        `outputs` hold one row per target type: those of `nodes`. The number must have a gradient by the outputs.
        """
        number = outputs[0][0].max()
        return number, f"{number.item():.4g}"

    def judged(self, part: Part) -> tuple[Tensor | None, ...]:  # noqa: ARG002
        """For each target type, the nodes on which a score of the part depends; None for all."""
        return (None,) * len(self.target_types)

    @abstractmethod
    def counts(self) -> Mapping[str, Mapping[str, float]]:
        """By part, the labelled nodes or pairs of each class; of numbers, how many there are, mean and spread."""

    @abstractmethod
    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """A hash or plain text for everything that affects a score; nodes are taken in `order`, per type."""

    def describe(self) -> str:
        """A one-line summary of the task."""
        parts = ", ".join(f"{part} {self.size(part)}" for part in PARTS)
        return f"{self.kind} of {' and '.join(self.target_types)}; {parts}; chosen by {self.metric}"

    @abstractmethod
    def export(self, tables: TablesOut) -> TaskSpec:
        """Add the task's columns or rows to the tables of a network; returns how to read it back."""

    @abstractmethod
    def with_other_test_labels(self) -> Self:
        """The same task with different test labels, to check that training never reads them."""


@dataclass(frozen=True)
class Folds:
    """The examples of training and validation, divided so that each is in the validation part of one fold.

    Folds that go forward in time leave out the earliest examples, which only train.
    """

    tasks: tuple[Task, ...]
    whole: Task
    """Its validation part holds all of them."""
    places: tuple[Tensor, ...]
    """For each fold, the places of its validation examples among all."""
    forward: bool = False
    """Whether each fold is trained on what came before it: then only the last one's models are used in the end."""

    def gather(self, votes: Sequence[Tensor]) -> Tensor:
        """The votes of every example, each from the fold that did not train on it."""
        found = votes[0].new_zeros(sum(len(v) for v in votes), *votes[0].shape[1:])
        for place, vote in zip(self.places, votes, strict=True):
            found[place] = vote
        return found


@dataclass(frozen=True)
class Examples:
    """The labelled examples of training and validation, as arrays."""

    kind: Literal["class", "number", "pair"]
    nodes: tuple[NDArray[np.int64], ...]
    """Node numbers, one array per target type; two for pairs."""
    labels: NDArray[Any]
    """Class numbers or zeros and ones (n, C); numbers; of pairs, 1 for positive ones."""
    held: NDArray[np.bool_]
    """Which of them are of validation."""


TASKS: Registry[type[Task]] = Registry("task", "diffmg.tasks", group="diffmg.tasks")


@dataclass(frozen=True)
class Reading:
    """A task as read from tables."""

    task: Task
    kept: Mapping[str, NDArray[np.bool_]]
    """Per relation of the description, a mask of edges to keep in the network; unlisted relations keep all."""
    notes: tuple[str, ...] = ()

    def noting(self, note: str) -> Reading:
        """The same with a note put first."""
        return replace(self, notes=(note, *self.notes))


class TaskSpec(Checked, ABC):
    """The `[task]` of a description: names of columns and relations, and settings."""

    held_back: tuple[str, ...] = ()
    """Columns that would leak the labels: not used as features, and not read."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """What the labels are called, so that columns of the same name elsewhere can be looked at."""
        return ()

    @classmethod
    @abstractmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """Whether a `[task]` without a kind is of this kind."""

    @abstractmethod
    def check(self, description: Description) -> None:
        """Raise if it names an undescribed node type or relation, or a label that is also a feature."""

    @abstractmethod
    def columns(self, description: Description) -> dict[str, set[str]]:
        """Per table, the columns the task reads, which are not features."""

    @abstractmethod
    def read(self, tables: Network) -> Reading:
        """Read the task from the tables of a network."""

    @abstractmethod
    def lines(self) -> list[str]:
        """A description of the task in text lines."""
