"""Label the nodes of one type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core.arrow import as_column
from diffmg.core.errors import DiffmgError, unknown
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks._base import Part, Task
from diffmg.tasks.labels import Shares, class_numbers, random_split, split_numbers
from diffmg.tasks.metrics import accuracy, macro_f1, micro_f1

METRICS = ("macro_f1", "micro_f1", "accuracy")


@dataclass(frozen=True)
class NodeClassification(Task):
    """One label per node, or several: `labels` is (n,) class numbers, or (n, C) of 0 and 1; -1 is unknown."""

    target: str
    labels: Tensor
    parts: Mapping[Part, Tensor]
    classes: tuple[Any, ...]
    metric: str = "macro_f1"

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
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
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
    ) -> NodeClassification:
        """Build from a column of labels in the order of the nodes: a list, or one of numpy, pandas, polars or Arrow.

        Labels may be text or numbers; None and NaN are nodes without one. `split` is a column of train, val, test or
        nothing; without it each class is divided by `shares`, at random from `seed`.
        """
        labels, classes = class_numbers(as_column(column, "the labels"), "the labels")
        parts = (
            random_split(labels, shares, seed)
            if split is None
            else split_numbers(as_column(split, "the split"), "the split")
        )
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
        """The labelled type must be there, with as many nodes as labels."""
        graph.schema.check_type(self.target)
        if graph.num_nodes[self.target] != len(self.labels):
            raise DiffmgError(
                f"there must be one label (or -1) per {self.target!r} node, "
                f"{graph.num_nodes[self.target]} in all, but got {len(self.labels)}"
            )

    def to(self, device: torch.device | str) -> NodeClassification:
        """The same task with its tensors elsewhere."""
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
        if not len(index):
            return {}
        logits, true = outputs[0][index], self.labels[index]
        predicted = self.decide(logits)
        scores = {
            "macro_f1": macro_f1(predicted, true, self.outputs),
            "micro_f1": micro_f1(predicted, true, self.outputs),
            "accuracy": accuracy(predicted, true),
        }
        diverged = logits.isnan().any()  # a model that diverged must not look good
        return {name: torch.where(diverged, torch.nan, score) for name, score in scores.items()}

    def decide(self, logits: Tensor) -> Tensor:
        """Class numbers (n,), or zeros and ones (n, C)."""
        return (logits > 0).long() if self.multilabel else logits.argmax(dim=1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probability of each class, (n, C)."""
        return torch.sigmoid(logits) if self.multilabel else torch.softmax(logits, dim=1)

    def fingerprint(self) -> str:
        """A hash of labels and split."""
        return fingerprint(self.target, self.labels, *self.parts.values())


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
