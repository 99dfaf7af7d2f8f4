"""Label the nodes of one type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import TASKS, DiffmgError, Part, unknown
from diffmg.core.arrow import as_column
from diffmg.core.details import Details
from diffmg.core.task import Examples, Folds, error_of_share
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers
from diffmg.tasks.by_id import column_of, in_node_order, label_names
from diffmg.tasks.class_answers import class_answers
from diffmg.tasks.class_balance import (
    ClassWeight,
    are_uneven,
    check_weighed_once,
    checked_class_weight,
    evening_weights,
    positive_class,
    rarer,
    weights_in_words,
    weights_of,
)
from diffmg.tasks.classification_details import details_of
from diffmg.tasks.classification_spec import ClassificationSpec
from diffmg.tasks.labels import Shares, class_numbers, split_by_id, split_numbers
from diffmg.tasks.metrics import accuracy, macro_f1, micro_f1
from diffmg.tasks.node_labels import (
    check_parts,
    check_training_classes,
    class_counts,
    class_names,
    label_columns,
    no_order,
    node_numbers,
)
from diffmg.tasks.node_task import LabelTimes, NodeTask
from diffmg.tasks.ranking import RANKED, effective_size, has_order, margin, marks_of, ranking_score

if TYPE_CHECKING:
    from diffmg.tables.export import TablesOut

__all__ = ["ClassificationSpec", "NodeClassification"]


@TASKS.add("classification")
@dataclass(frozen=True, repr=False)
class NodeClassification(NodeTask):
    """One label per node, or several: `labels` is (n,) class numbers, or (n, C) of 0 and 1; -1 is unknown."""

    target: str
    labels: Tensor
    parts: Mapping[Part, Tensor]
    classes: tuple[Any, ...]
    metric: str = "macro_f1"
    positive: int | None = None
    """The number of the positive class, where there are two."""
    class_weight: ClassWeight = None
    """How much classes weigh in the loss, one weight per class if they are not balanced."""
    weights: Tensor | None = None
    """These weights for the present training nodes, (C,)."""
    when: LabelTimes | None = None
    """When labels are predicted and known, for folds that go forward in time."""

    kind: ClassVar = "classification"
    summary: ClassVar = "label the nodes of one type: one class a node, or several"
    metrics: ClassVar = {"macro_f1": "max", "micro_f1": "max", "accuracy": "max", **dict.fromkeys(RANKED, "max")}
    verb: ClassVar = "predict"
    rivals: ClassVar = ("mlp", "label_propagation", "boosting")
    estimator: ClassVar = "MetaGraphClassifier"
    spec: ClassVar = ClassificationSpec
    missing: ClassVar = "-1"

    @classmethod
    def build(
        cls,
        target: str,
        labels: ArrayLike,
        *,
        train: ArrayLike,
        val: ArrayLike,
        test: ArrayLike = (),
        classes: Sequence[Any] | None = None,
        metric: str = "macro_f1",
        positive: Any = None,
        class_weight: Any = None,
    ) -> NodeClassification:
        """Build from labels and, per part, node numbers or a mask over all nodes, checking everything.

        `positive` names the positive one of two classes (the rarer in training where none is given); `class_weight` is
        "balanced" or {class: weight}, for the loss.
        """
        if metric not in cls.metrics:
            raise unknown("metric", metric, cls.metrics)
        values = np.asarray(labels)
        if values.ndim not in (1, 2) or not (np.issubdtype(values.dtype, np.integer) or values.dtype == bool):
            raise DiffmgError(
                "labels must be class numbers (n,) or zeros and ones (n, C), "
                f"but got {values.dtype} of shape {values.shape}"
            )
        given: dict[Part, ArrayLike] = {"train": train, "val": val, "test": test}
        parts = {part: node_numbers(part, index, len(values)) for part, index in given.items()}
        names = class_names(values, classes)
        check_parts(target, np.asarray((values.reshape(len(values), -1) >= 0).all(axis=1)), parts)
        check_training_classes(values[parts["train"]], names)
        tensors = {part: torch.from_numpy(index) for part, index in parts.items()}
        numbers = torch.from_numpy(values.astype(np.int64))
        known = numbers[tensors["train"]]
        number, weight = positive_class(positive, known, names), checked_class_weight(class_weight, names)
        task = cls(target, numbers, tensors, names, metric, number, weight, weights_of(weight, known, len(names)))
        task._check_order()
        return task

    @classmethod
    def from_column(
        cls,
        target: str,
        column: Any,
        *,
        split: Any = None,
        shares: Shares = (0.6, 0.2, 0.2),
        seed: int = 0,
        metric: str = "macro_f1",
        ids: ArrayLike | None = None,
        positive: Any = None,
        class_weight: Any = None,
    ) -> NodeClassification:
        """Build from a column of labels in the order of the nodes: a list, or one of numpy, pandas, polars or Arrow.

        Labels may be text or numbers; None and NaN are nodes without one. `split` is a column of train, val, test or
        nothing; without it each class is divided by `shares`, at random from `seed`. With `ids` the split is drawn by
        id, so that it is the same for any order of the nodes. `positive` and `class_weight` are those of `build`.
        """
        labels, classes = class_numbers(as_column(column, "the labels"), "the labels")
        if split is not None:
            parts = split_numbers(as_column(split, "the split"), "the split")
        else:
            parts = split_by_id(labels, shares, seed, ids)
        return cls.build(
            target, labels, **parts, classes=classes, metric=metric, positive=positive, class_weight=class_weight
        )

    @classmethod
    def from_frame(
        cls,
        graph: HeteroGraph,
        target: str,
        frame: Any,
        *,
        id_column: str | None = None,
        label: str | None = None,
        split: str | None = None,
        **options: Any,
    ) -> NodeClassification:
        """Build from a frame of pandas, polars or Arrow (or columns by name) with ids and labels, in any order.

        The ids are in `id_column`, or the one called like the type or `id`, or else the first; the label is `label`, or
        the only other column. Nodes without a row have no label; ids that no node has, missing and double ones are
        errors. `split` names a column; a random split is drawn by id. `options` are those of `from_column`.
        """
        table, own = in_node_order(graph, target, frame, id_column, "the labels")
        (name,) = label_names(table, label, (own, split))
        given = None if split is None else column_of(table, split, "the labels")
        return cls.from_column(target, table.column(name), split=given, ids=graph.ids_of(target), **options)

    @property
    def nodes(self) -> int:
        """As many as there are labels, known or not."""
        return len(self.labels)

    @property
    def outputs(self) -> int:
        """One column per class."""
        return len(self.classes)

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels."""
        return self.labels.ndim == 2

    def to(self, device: torch.device | str) -> NodeClassification:
        """The same task with its tensors on another device."""
        parts = {part: index.to(device) for part, index in self.parts.items()}
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, labels=self.labels.to(device), parts=parts, weights=weights)

    @property
    def uneven(self) -> bool:
        """Whether some classes are rare, and the metric counts decisions class by class."""
        by_class = self.metric == "macro_f1" or (self.multilabel and self.metric not in RANKED)
        return by_class and self.class_weight is None and are_uneven(self.labels[self.parts["train"]], self.outputs)

    def evened(self, balance: float) -> Self:
        """With weights of classes that follow from those of training nodes."""
        if not balance:
            return self
        check_weighed_once(balance, self.class_weight)
        return replace(self, weights=evening_weights(self.labels[self.parts["train"]], self.outputs, balance))

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Cross-entropy, or binary cross-entropy where a node may have several labels, with the weights of classes."""
        index = self.parts[part]
        if self.multilabel:
            true = self.labels[index].float()
            return F.binary_cross_entropy_with_logits(outputs[0][index], true, pos_weight=self.weights)
        return F.cross_entropy(outputs[0][index], self.labels[index], weight=self.weights)

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Macro F1, micro F1 and accuracy, and the metric of an order if it is the one that chooses."""
        index = self.parts[part]
        return self._scores(outputs[0][index], index) if len(index) else {}

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Of two classes also ROC AUC and average precision, where the part has both classes."""
        found, index = self.scores(outputs, part), self.parts[part]
        if self.positive is None or not self._ordered(index):
            return found
        logits, true = outputs[0][index], self.labels[index]
        return found | {name: self.ranking(name, logits, true) for name in RANKED}

    def details(self, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:  # noqa: ARG002
        """Each class, what is confused with what, and how sure answers are."""
        return details_of(self, outputs, part)

    def ranking(self, metric: str, logits: Tensor, labels: Tensor) -> Tensor:
        """A metric of the order that logits (..., n, C) put nodes in: of the positive class, or the mean over all."""
        marks = marks_of(labels, self.outputs, self.positive)
        return ranking_score(metric, logits, marks, self.positive, multilabel=self.multilabel)

    def standard_error(self, score: float) -> float:
        """Of a metric of an order: by the smaller groups that it compares."""
        if self.metric not in RANKED:
            return super().standard_error(score)
        marks = marks_of(self.labels[self.parts["val"]], self.outputs, self.positive)
        return error_of_share(score, effective_size(marks))

    def _ordered(self, index: Tensor) -> bool:
        """Whether there is an order of these nodes to be scored: they have more than one class."""
        return has_order(marks_of(self.labels[index], self.outputs, self.positive))

    def _check_order(self) -> None:
        for part, index in self.parts.items():
            if self.metric in RANKED and len(index) and not self._ordered(index):
                raise no_order(self.metric, part, self.labels[index], self.classes)

    def _scores(self, logits: Tensor, index: Tensor) -> dict[str, Tensor]:
        true, predicted = self.labels[index], self.decide(logits)
        scores = {
            "macro_f1": macro_f1(predicted, true, self.outputs),
            "micro_f1": micro_f1(predicted, true, self.outputs),
            "accuracy": accuracy(predicted, true),
        }
        if self.metric in RANKED:
            scores[self.metric] = self.ranking(self.metric, logits, true)
        diverged = logits.isnan().any()  # a model that diverged must not score well
        return {name: torch.where(diverged, torch.nan, score) for name, score in scores.items()}

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Probabilities of the classes."""
        return self.probabilities(outputs[0][self.parts[part]])

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of averaged probabilities, also of a task with scores of its own."""
        logits, index = self._logits(votes), self.parts[part]
        if type(self).scores is NodeClassification.scores:
            return self._scores(logits, index)[self.metric]
        return self.scores((self.placed(logits, part),), part)[self.metric]

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """Logits of the weighted mean of the probabilities."""
        several = zip(weights, outputs, strict=True)
        votes = torch.stack([w * self.probabilities(z[0]) for w, z in several]).sum(dim=0)
        return (self._logits(votes / sum(weights)),)

    def _logits(self, votes: Tensor) -> Tensor:
        votes = votes.clamp(1e-12, 1 - 1e-7)
        return torch.logit(votes) if self.multilabel else votes.log()

    def folds(self, count: int, seed: int) -> Folds | None:
        """Each class divided among the folds; None where the metric is of an order and a fold would have no order."""
        folds = super().folds(count, seed)
        if folds is None or self.metric not in RANKED:
            return folds
        tasks: tuple[Any, ...] = folds.tasks
        return folds if all(self._ordered(task.parts["val"]) for task in tasks) else None

    def strata(self, index: Tensor) -> NDArray[np.int64]:
        """Their classes; one group where a node may have several labels."""
        return super().strata(index) if self.multilabel else self.labels[index].numpy(force=True)

    def with_parts(self, **parts: Tensor) -> Self:
        """Weights of classes go by the training part."""
        new = super().with_parts(**parts)
        return replace(new, weights=weights_of(self.class_weight, self.labels[new.parts["train"]], self.outputs))

    def decide(self, logits: Tensor) -> Tensor:
        """Class numbers (n,), or zeros and ones (n, C)."""
        return (logits > 0).long() if self.multilabel else logits.argmax(dim=1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probability of each class, (n, C)."""
        return torch.sigmoid(logits) if self.multilabel else torch.softmax(logits, dim=1)

    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """The class of each node, and the probability of every class."""
        if options:
            raise unknown("option of a classification's answers:", next(iter(options)), ())
        return class_answers(self, outputs[0], graph, ids)

    def answer_of(self, outputs: tuple[Tensor, ...], nodes: tuple[int, ...]) -> tuple[Tensor, str]:  # noqa: ARG002
        """Of several labels, the likeliest."""
        words = f"p = {float(self.probabilities(outputs[0][:1].detach()).max()):.3f}"
        number, best = margin(outputs[0][0], several=self.multilabel)
        return number, f"{self.classes[best]} ({words})"

    def known_labels(self) -> Tensor:
        """Zeros and ones (n, C): the training labels."""
        index, found = self.parts["train"], torch.zeros(len(self.labels), self.outputs, device=self.labels.device)
        marks = self.labels[index] if self.multilabel else F.one_hot(self.labels[index], self.outputs)
        found[index] = marks.to(found.dtype)
        return found

    def examples(self) -> Examples:
        """The classes of training and validation nodes."""
        nodes, held = self.known_nodes()
        return Examples("class", (nodes,), self.labels.numpy(force=True)[nodes], held)

    def counts(self) -> dict[str, dict[str, int]]:
        """Labelled nodes of each class, by part."""
        return {str(part): class_counts(self.labels[index], self.classes) for part, index in self.parts.items()}

    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Classes, labels, and each part of the split."""
        labels, perm = self.labels.numpy(force=True), order.get(self.target)
        found = {"task": f"classification of {self.target}", "metric": self.metric}
        found["classes"] = ", ".join(map(str, self.classes))
        found["labels"] = f"{int((labels >= 0).sum())} labels #{fingerprint(labels if perm is None else labels[perm])}"
        found |= self.split_digests(perm)
        if self._positive_matters:
            found["positive"] = str(self.classes[self.positive])  # type: ignore[index]
        if self.class_weight is not None:
            found["class weights"] = weights_in_words(self._weight_by_name())
        return found

    @property
    def _positive_matters(self) -> bool:
        """Whether the positive class chooses, or is another than it would be anyway."""
        known = self.labels[self.parts["train"]]
        return self.positive is not None and (self.metric in RANKED or self.positive != rarer(known))

    def _weight_by_name(self) -> Any:
        if not isinstance(self.class_weight, tuple):
            return self.class_weight
        return dict(zip(map(str, self.classes), self.class_weight, strict=True))

    def describe(self) -> str:
        """A one-line summary of the task."""
        text = super().describe()
        if self.metric in RANKED and self.positive is not None:
            text += f" of {self.classes[self.positive]}"
        weight = self._weight_by_name()
        return text if weight is None else f"{text}; weights of classes: {weights_in_words(weight)}"

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> NodeClassification:
        """The same labels on nodes in another order."""
        if self.target not in orders:
            return self
        order, device = orders[self.target], self.labels.device
        labels = self.labels[torch.from_numpy(order).to(device)]
        return replace(self, labels=labels, parts=self.parts_in(order), when=self.when_in(order))

    def export(self, tables: TablesOut) -> ClassificationSpec:
        """Columns of labels and split."""
        columns, classes = label_columns(self.labels.numpy(force=True), self.classes)
        tables.add_node_columns(self.target, columns | {"split": self.split_column()})
        positive = classes[self.positive] if self._positive_matters else None  # type: ignore[index]
        more = {"metric": self.metric, "positive": positive, "class_weight": self._weight_by_name()}
        return ClassificationSpec(self.target, tuple(columns), "split", classes=tuple(classes), **more)

    def with_other_test_labels(self) -> NodeClassification:
        """The same task with every test label changed to the next class."""
        labels = self.labels.clone()
        labels[self.parts["test"]] = (labels[self.parts["test"]] + 1) % max(2, 1 if self.multilabel else self.outputs)
        return replace(self, labels=labels)

    def __repr__(self) -> str:
        names = [str(c) for c in self.classes]
        shown = ", ".join(names[:6]) + (f", ... {len(names)} classes" if len(names) > 6 else "")
        return f"NodeClassification({self.describe()}; classes {shown})"
