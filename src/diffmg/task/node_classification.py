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

from diffmg.errors import DiffmgError, unknown
from diffmg.fingerprint import fingerprint
from diffmg.graph import HeteroGraph
from diffmg.metrics import accuracy, macro_f1, micro_f1
from diffmg.task._base import Part, Task

METRICS = ("macro_f1", "micro_f1", "accuracy")


@dataclass(frozen=True)
class NodeClassification(Task):
    """One label per node, or several: `labels` is (n,) class numbers with -1 for unknown, or (n, C) of 0 and 1."""

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
        """Build from labels and node numbers per part, checking everything."""
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
        values = np.asarray(labels)
        if values.ndim not in (1, 2) or not (np.issubdtype(values.dtype, np.integer) or values.dtype == bool):
            raise DiffmgError(
                "labels must be class numbers (n,) or zeros and ones (n, C), "
                f"but got {values.dtype} of shape {values.shape}"
            )
        parts = {"train": np.asarray(train), "val": np.asarray(val), "test": np.asarray(test)}
        count = values.shape[1] if values.ndim == 2 else int(values.max(initial=-1)) + 1
        names = tuple(range(count) if classes is None else classes)
        _check_parts(target, values, parts, names)
        tensors = {p: torch.from_numpy(i.astype(np.int64).ravel()) for p, i in parts.items()}
        return cls(target, torch.from_numpy(values.astype(np.int64)), tensors, names, metric)  # type: ignore[arg-type]

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
        predicted, true = self.decide(outputs[0][index]), self.labels[index]
        return {
            "macro_f1": macro_f1(predicted, true, self.outputs),
            "micro_f1": micro_f1(predicted, true, self.outputs),
            "accuracy": accuracy(predicted, true),
        }

    def decide(self, logits: Tensor) -> Tensor:
        """Class numbers (n,), or zeros and ones (n, C)."""
        return (logits > 0).long() if self.multilabel else logits.argmax(dim=1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probability of each class, (n, C)."""
        return torch.sigmoid(logits) if self.multilabel else torch.softmax(logits, dim=1)

    def fingerprint(self) -> str:
        """A hash of labels and split."""
        return fingerprint(self.target, self.labels, *self.parts.values())


def _check_parts(
    target: str, labels: NDArray[Any], parts: Mapping[str, NDArray[Any]], classes: tuple[Any, ...]
) -> None:
    for part, index in parts.items():
        if part != "test" and not index.size:
            raise DiffmgError(f"the split needs {target!r} nodes in train and in val, but got none in {part}")
        if index.size and (index.min() < 0 or index.max() >= len(labels)):
            raise DiffmgError(
                f"`0 <= {target} < {len(labels)}` must hold in {part}, but got {index.min()} to {index.max()}"
            )
        if index.size and (labels[index] < 0).any():
            bad = index[(labels[index] < 0).reshape(len(index), -1).any(axis=1)]
            raise DiffmgError(f"every {target!r} node of {part} must have a label, but got none for {bad[:3].tolist()}")
    for a, b in (("train", "val"), ("train", "test"), ("val", "test")):
        both = np.intersect1d(parts[a], parts[b])
        if len(both):
            raise DiffmgError(
                f"the parts of a split must not overlap, but got {len(both)} {target!r} nodes in both {a} and {b}, "
                f"such as {both[:3].tolist()}"
            )
    known = labels[parts["train"]]
    seen = known.any(axis=0) if known.ndim == 2 else np.isin(np.arange(len(classes)), known)
    if len(classes) < 2 or not seen.all():
        absent = [c for c, s in zip(classes, seen, strict=True) if not s]
        raise DiffmgError(
            f"there must be two or more classes, each with a training node, but got {len(classes)} classes "
            f"and none for {absent[:5]}; drop the class or move a node of it to train"
        )
