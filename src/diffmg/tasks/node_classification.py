"""Label the nodes of one type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import TASKS, Bounds, DiffmgError, Part, Task, TaskSpec, unknown
from diffmg.core.arrow import as_column
from diffmg.core.task import Folds, Reading
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers, inverse
from diffmg.tasks.labels import Shares, class_numbers, fold_numbers, random_split, split_numbers
from diffmg.tasks.metrics import accuracy, macro_f1, micro_f1

if TYPE_CHECKING:
    from diffmg.tables.description import Description
    from diffmg.tables.export import TablesOut
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class ClassificationSpec(TaskSpec):
    """Label the nodes of a type by a column of its table."""

    target: str
    label: tuple[str, ...]
    """The column of labels, or several columns of 0 and 1 for several labels a node."""
    split: str | None = None
    """Column of train, val and test; random and stratified where there is none."""
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: Annotated[int, Bounds(0)] = 0
    """Draws a random split, by id: the order of rows does not matter."""
    metric: str = "macro_f1"
    classes: tuple[Any, ...] | None = None
    """Classes in order; those of the column, sorted, where none are given."""
    held_back: tuple[str, ...] = ()
    """Other columns that would tell the label, and so are no features."""

    def rules(self) -> dict[str, bool]:
        """There must be a label."""
        return {"label has a name": len(self.label) >= 1}

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a target or a label."""
        return "label" in given or "target" in given

    def check(self, description: Description) -> None:
        """The labels are known, and are neither features nor edges."""
        table = description.table_of(self.target)
        if table is None:
            raise DiffmgError(f"labels come from the table of {self.target!r}, but got a type without one")
        leaks = sorted(description.columns_in_use(table) & set(self.label))
        if leaks:
            raise DiffmgError(
                f"a label must be no feature, id or edge of the network, or the answer leaks, but got {leaks} as both"
            )

    def columns(self, description: Description) -> dict[str, set[str]]:
        """Labels, split, and what would tell the label."""
        columns = {*self.label, *self.held_back, *([self.split] if self.split else [])}
        return {str(description.table_of(self.target)): columns}

    def read(self, tables: Network) -> Reading:
        """Labels and split, from columns or drawn by id."""
        labels, classes = self._labels(tables)
        if self.split is not None:
            parts = split_numbers(tables.node_column(self.target, self.split), f"the split column {self.split!r}")
        else:
            strata = labels if labels.ndim == 1 else np.where((labels >= 0).all(axis=1), 0, -1)
            parts = random_split(strata, self.shares, self.seed)
        return Reading(NodeClassification.build(self.target, labels, **parts, classes=classes, metric=self.metric), {})

    def lines(self) -> list[str]:
        """What is predicted, and how it is split."""
        shares = " / ".join(f"{share:g}" for share in self.shares)
        split = f"split from column {self.split}" if self.split else f"random split {shares}, seed {self.seed}"
        lines = [f"task: predict {', '.join(self.label)} of {self.target}; {split}"]
        if self.held_back:
            lines.append(f"held back, since they may tell the label: {', '.join(self.held_back)}")
        return lines

    def _labels(self, tables: Network) -> tuple[NDArray[np.int64], list[Any]]:
        columns = [tables.node_column(self.target, name) for name in self.label]
        if len(columns) == 1:
            return class_numbers(columns[0], f"the label column {self.label[0]!r}", self.classes)
        marks = [
            class_numbers(_zeros_and_ones(values), f"the label column {name!r}, one of several,", (0, 1))[0]
            for name, values in zip(self.label, columns, strict=True)
        ]
        return np.stack(marks, axis=1), list(self.label if self.classes is None else self.classes)


@TASKS.add("classification")
@dataclass(frozen=True, repr=False)
class NodeClassification(Task):
    """One label per node, or several: `labels` is (n,) class numbers, or (n, C) of 0 and 1; -1 is unknown."""

    target: str
    labels: Tensor
    parts: Mapping[Part, Tensor]
    classes: tuple[Any, ...]
    metric: str = "macro_f1"

    kind: ClassVar = "classification"
    summary: ClassVar = "label the nodes of one type: one class a node, or several"
    metrics: ClassVar = {"macro_f1": "max", "micro_f1": "max", "accuracy": "max"}
    verb: ClassVar = "predict"
    estimator: ClassVar = "MetaGraphClassifier"
    spec: ClassVar = ClassificationSpec

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
    ) -> NodeClassification:
        """Build from labels and, per part, node numbers or a mask over all nodes, checking everything."""
        if metric not in cls.metrics:
            raise unknown("metric", metric, cls.metrics)
        values = np.asarray(labels)
        if values.ndim not in (1, 2) or not (np.issubdtype(values.dtype, np.integer) or values.dtype == bool):
            raise DiffmgError(
                "labels must be class numbers (n,) or zeros and ones (n, C), "
                f"but got {values.dtype} of shape {values.shape}"
            )
        given: dict[Part, ArrayLike] = {"train": train, "val": val, "test": test}
        parts = {part: _node_numbers(part, index, len(values)) for part, index in given.items()}
        names = _class_names(values, classes)
        _check_parts(target, values, parts)
        _check_training_classes(values[parts["train"]], names)
        tensors = {part: torch.from_numpy(index) for part, index in parts.items()}
        return cls(target, torch.from_numpy(values.astype(np.int64)), tensors, names, metric)

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
    ) -> NodeClassification:
        """Build from a column of labels in the order of the nodes: a list, or one of numpy, pandas, polars or Arrow.

        Labels may be text or numbers; None and NaN are nodes without one. `split` is a column of train, val, test or
        nothing; without it each class is divided by `shares`, at random from `seed`. With `ids` the split is drawn by
        id, so that it is the same for any order of the nodes.
        """
        labels, classes = class_numbers(as_column(column, "the labels"), "the labels")
        if split is not None:
            parts = split_numbers(as_column(split, "the split"), "the split")
        else:
            order = np.arange(len(labels)) if ids is None else np.argsort(np.asarray(ids), kind="stable")
            parts = {part: order[index] for part, index in random_split(labels[order], shares, seed).items()}
        return cls.build(target, labels, **parts, classes=classes, metric=metric)

    @property
    def target_types(self) -> tuple[str, ...]:
        """The labelled type."""
        return (self.target,)

    @property
    def outputs(self) -> int:
        """One column per class."""
        return len(self.classes)

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels."""
        return self.labels.ndim == 2

    def size(self, part: Part) -> int:
        """Labelled nodes of a part."""
        return len(self.parts[part])

    def check(self, graph: HeteroGraph) -> None:
        """The labelled type must exist, with as many nodes as labels."""
        graph.schema.check_type(self.target)
        if graph.num_nodes[self.target] != len(self.labels):
            raise DiffmgError(
                f"there must be one label (or -1) per {self.target!r} node, "
                f"{graph.num_nodes[self.target]} in all, but got {len(self.labels)}"
            )

    def to(self, device: torch.device | str) -> NodeClassification:
        """The same task with its tensors on another device."""
        parts = {part: index.to(device) for part, index in self.parts.items()}
        return replace(self, labels=self.labels.to(device), parts=parts)

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Cross-entropy, or binary cross-entropy where a node may have several labels."""
        index = self.parts[part]
        if self.multilabel:
            return F.binary_cross_entropy_with_logits(outputs[0][index], self.labels[index].float())
        return F.cross_entropy(outputs[0][index], self.labels[index])

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Macro F1, micro F1 and accuracy."""
        index = self.parts[part]
        return self._scores(outputs[0][index], index) if len(index) else {}

    def _scores(self, logits: Tensor, index: Tensor) -> dict[str, Tensor]:
        true, predicted = self.labels[index], self.decide(logits)
        scores = {
            "macro_f1": macro_f1(predicted, true, self.outputs),
            "micro_f1": micro_f1(predicted, true, self.outputs),
            "accuracy": accuracy(predicted, true),
        }
        diverged = logits.isnan().any()  # a model that diverged must not score well
        return {name: torch.where(diverged, torch.nan, score) for name, score in scores.items()}

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Probabilities of the classes."""
        return self.probabilities(outputs[0][self.parts[part]])

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of averaged probabilities."""
        return self._scores(self._logits(votes), self.parts[part])[self.metric]

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """Logits of the weighted mean of the probabilities."""
        several = zip(weights, outputs, strict=True)
        votes = torch.stack([w * self.probabilities(z[0]) for w, z in several]).sum(dim=0)
        return (self._logits(votes / sum(weights)),)

    def _logits(self, votes: Tensor) -> Tensor:
        votes = votes.clamp(1e-12, 1 - 1e-7)
        return torch.logit(votes) if self.multilabel else votes.log()

    def folds(self, count: int, seed: int) -> Folds:
        """Each class (of several labels a node: all nodes) divided among the folds at random."""
        known = torch.cat([self.parts["train"], self.parts["val"]]).sort().values
        codes = self.labels[known].numpy(force=True)
        number = fold_numbers(np.zeros(len(codes), np.int64) if self.multilabel else codes, count, seed)
        places = tuple(torch.from_numpy(np.flatnonzero(number == k)).to(known.device) for k in range(count))
        rest = (torch.from_numpy(np.flatnonzero(number != k)).to(known.device) for k in range(count))
        tasks = tuple(self._with(train=known[r], val=known[p]) for p, r in zip(places, rest, strict=True))
        return Folds(tasks, self._with(val=known), places)

    def joined(self, *, test: bool = False) -> NodeClassification:
        """Training on every labelled node, or on all but the test part."""
        kept: tuple[Part, ...] = ("train", "val", "test") if test else ("train", "val")
        return self._with(train=torch.cat([self.parts[part] for part in kept]))

    def _with(self, **parts: Tensor) -> NodeClassification:
        return replace(self, parts={part: parts.get(part, index) for part, index in self.parts.items()})

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
        logits, known = outputs[0], graph.ids_of(self.target)
        if ids is not None:
            index = graph.index_of(self.target, ids)
            logits, known = logits[torch.from_numpy(index)], known[index]
        decided, names = self.decide(logits).numpy(force=True), np.asarray(self.classes)
        if self.multilabel:
            words = np.array([" ".join(map(str, names[row > 0])) for row in decided], dtype=object)
        else:
            words = names[decided]
        probabilities = self.probabilities(logits).numpy(force=True)
        return Answers(
            {self.target: known, "class": words} | {f"p({c})": p for c, p in zip(names, probabilities.T, strict=True)}
        )

    def known_labels(self) -> Tensor:
        """Zeros and ones (n, C): the training labels."""
        index, found = self.parts["train"], torch.zeros(len(self.labels), self.outputs, device=self.labels.device)
        marks = self.labels[index] if self.multilabel else F.one_hot(self.labels[index], self.outputs)
        found[index] = marks.to(found.dtype)
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        """Labelled nodes of each class, by part."""
        found = {}
        for part, index in self.parts.items():
            labels = self.labels[index]
            each = labels.sum(dim=0) if self.multilabel else torch.bincount(labels, minlength=self.outputs)
            found[str(part)] = dict(zip(map(str, self.classes), each.tolist(), strict=True))
        return found

    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Classes, labels, and each part of the split."""
        labels, perm = self.labels.numpy(force=True), order.get(self.target)
        places = np.arange(len(labels)) if perm is None else inverse(perm)
        found = {"task": f"classification of {self.target}", "metric": self.metric}
        found["classes"] = ", ".join(map(str, self.classes))
        found["labels"] = f"{int((labels >= 0).sum())} labels #{fingerprint(labels if perm is None else labels[perm])}"
        for part, index in self.parts.items():
            found[f"split, {part}"] = f"{len(index)} nodes #{fingerprint(np.sort(places[index.numpy(force=True)]))}"
        return found

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> NodeClassification:
        """The same labels on nodes in another order."""
        if self.target not in orders:
            return self
        order, device = orders[self.target], self.labels.device
        places = torch.from_numpy(inverse(order)).to(device)
        parts = {part: places[index] for part, index in self.parts.items()}
        return replace(self, labels=self.labels[torch.from_numpy(order).to(device)], parts=parts)

    def export(self, tables: TablesOut) -> ClassificationSpec:
        """Columns of labels and split."""
        labels = self.labels.numpy(force=True)
        classes = [c.item() if isinstance(c, np.generic) else c for c in self.classes]
        if len({type(c) for c in classes}) > 1 or not isinstance(classes[0], str | int | float):
            classes = [str(c) for c in classes]
        split = np.full(len(labels), None, object)
        for part, index in self.parts.items():
            split[index.numpy(force=True)] = part
        columns: dict[str, Any]
        if self.multilabel:
            columns = {f"label{i}": [None if v < 0 else int(v) for v in marks] for i, marks in enumerate(labels.T)}
        else:
            columns = {"label": [None if number < 0 else classes[number] for number in labels]}
        tables.add_node_columns(self.target, columns | {"split": split})
        return ClassificationSpec(self.target, tuple(columns), "split", metric=self.metric, classes=tuple(classes))

    def with_other_test_labels(self) -> NodeClassification:
        """The same task with every test label changed to the next class."""
        labels = self.labels.clone()
        labels[self.parts["test"]] = (labels[self.parts["test"]] + 1) % max(2, 1 if self.multilabel else self.outputs)
        return replace(self, labels=labels)

    def __repr__(self) -> str:
        names = [str(c) for c in self.classes]
        shown = ", ".join(names[:6]) + (f", ... {len(names)} classes" if len(names) > 6 else "")
        return f"NodeClassification({self.describe()}; classes {shown})"


def _node_numbers(part: Part, given: ArrayLike, count: int) -> NDArray[np.int64]:
    """Node numbers of a part, which may be given as a mask."""
    index = np.asarray(given)
    if index.dtype == bool and index.shape == (count,):
        return np.flatnonzero(index)
    if index.size and (index.ndim != 1 or not np.issubdtype(index.dtype, np.integer)):
        raise DiffmgError(
            f"{part} must be node numbers or a mask over all {count} nodes, "
            f"but got {index.dtype} of shape {index.shape}"
        )
    if index.size and (index.min() < 0 or index.max() >= count):
        raise DiffmgError(f"`0 <= node < {count}` must hold in {part}, but got {index.min()} to {index.max()}")
    return index.astype(np.int64).ravel()


def _class_names(labels: NDArray[Any], classes: Sequence[Any] | None) -> tuple[Any, ...]:
    """One name per class; for several labels a node, one per column of zeros and ones."""
    if labels.ndim == 2 and labels.max(initial=0) > 1:
        raise DiffmgError(f"labels (n, C) must be zeros and ones (or -1 for unknown), but got {labels.max()}")
    count = labels.shape[1] if labels.ndim == 2 else int(labels.max(initial=-1)) + 1
    names = tuple(range(count) if classes is None else classes)
    if len(names) < count or (labels.ndim == 2 and len(names) != count):
        raise DiffmgError(f"every class needs a name, {count} in all, but got {len(names)}: {list(names)[:5]}")
    return names


def _check_parts(target: str, labels: NDArray[Any], parts: Mapping[Part, NDArray[np.int64]]) -> None:
    for part, index in parts.items():
        if part != "test" and not index.size:
            raise DiffmgError(f"the split needs {target!r} nodes in train and in val, but got none in {part}")
        missing = labels[index] < 0
        bad = index[missing if missing.ndim == 1 else missing.any(axis=1)]
        if len(bad):
            raise DiffmgError(f"every {target!r} node of {part} must have a label, but got none for {bad[:3].tolist()}")
    pairs: tuple[tuple[Part, Part], ...] = (("train", "val"), ("train", "test"), ("val", "test"))
    for a, b in pairs:
        both = np.intersect1d(parts[a], parts[b])
        if len(both):
            raise DiffmgError(
                f"the parts of a split must not overlap, but got {len(both)} {target!r} nodes in both {a} and {b}, "
                f"such as {both[:3].tolist()}"
            )


def _check_training_classes(labels: NDArray[Any], classes: tuple[Any, ...]) -> None:
    seen = np.asarray(labels.any(axis=0) if labels.ndim == 2 else np.isin(np.arange(len(classes)), labels))
    if len(classes) < 2 or not seen.all():
        absent = [c for c, s in zip(classes, seen, strict=True) if not s]
        raise DiffmgError(
            f"there must be two or more classes, each with a training node, but got {len(classes)} classes "
            f"and none for {absent[:5]}; drop the class or move a node of it to train"
        )


def _zeros_and_ones(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.int64()) if pa.types.is_boolean(values.type) else values
