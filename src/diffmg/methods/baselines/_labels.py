"""Training labels as numbers, for methods that compute with them directly."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Task
from diffmg.tasks.regression import NodeRegression

LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1."""
ABSENT = -20.0
"""Logit of a class without training nodes."""


@dataclass(frozen=True)
class TrainingLabels:
    """The labels of the training nodes, and of no others."""

    nodes: Tensor
    """Node numbers, (m,)."""
    marks: Tensor
    """1 where a node has a label, (m, C); the standardised numbers, where labels are numbers."""
    multilabel: bool
    """Whether a node may have several labels."""
    weights: Tensor | None = None
    """How much each class weighs in a loss, (C,); None if all weigh the same."""
    loss: str = ""
    """The task's loss, where labels are numbers."""

    @classmethod
    def of(cls, task: Task) -> Self:
        """The training labels of a task with classes or numbers, on the host; raises for other tasks."""
        labelled: Any = task
        if isinstance(task, NodeRegression):
            nodes = task.parts["train"].cpu()
            return cls(nodes, task.scaled.cpu()[nodes].double(), multilabel=False, loss=task.error)
        missing = [name for name in ("labels", "parts", "multilabel", "classes") if not hasattr(task, name)]
        if missing:
            raise DiffmgError(
                f"this method needs a task with classes or a regression, but got a {task.kind!r} without "
                f"{', '.join(missing)}; take another method"
            )
        nodes = labelled.parts["train"].cpu()
        labels = labelled.labels.cpu()[nodes]
        marks = labels if labelled.multilabel else F.one_hot(labels, task.outputs)
        weights = getattr(task, "weights", None)
        return cls(nodes, marks.to(torch.uint8), labelled.multilabel, None if weights is None else weights.cpu())

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return bool(self.loss)

    @property
    def prior(self) -> Tensor:
        """The share of training nodes with each label, or the mean of each number, (C,)."""
        return self.marks.double().mean(dim=0)

    def constants(self) -> NDArray[np.float64]:
        """Logits or numbers (C,) where no model says otherwise."""
        if self.numeric:
            return self.prior.numpy()
        if self.multilabel:
            return logits_of(self.prior, multilabel=True).double().numpy()
        return np.where(self.prior.numpy() > 0, 0.0, ABSENT)

    def node_weights(self, columns: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """The weight of each training node in the model of these columns, as in the task's loss; None if all are 1."""
        if self.weights is None:
            return None
        marks, weights = self.marks.double(), self.weights.double()
        if self.multilabel:
            (label,) = columns
            return np.asarray(torch.where(marks[:, label] > 0, weights[label], 1.0).numpy())
        found = marks @ weights
        return np.asarray((found / found.mean()).numpy())

    def models(self) -> list[tuple[NDArray[Any], NDArray[np.int64]]]:
        """Class numbers for each model to fit, and the columns of logits that its scores go to; one model per number.

        One model where a node has one label; a model of two classes scores the second, as libraries do, and the logit
        of the first stays 0. One model per label where a node may have several. A label that all or none of the
        training nodes have needs no model.
        """
        if self.numeric:
            return [(column, np.array([n])) for n, column in enumerate(self.marks.numpy().T)]
        marks = self.marks.numpy().astype(np.int64)
        varied = np.flatnonzero(marks.min(axis=0) < marks.max(axis=0))
        if self.multilabel:
            return [(marks[:, label], np.array([label])) for label in varied]
        classes = np.searchsorted(varied, marks.argmax(axis=1))
        return [(classes, varied if len(varied) > 2 else varied[1:])] if len(varied) else []


def logits_of(probabilities: Tensor, *, multilabel: bool) -> Tensor:
    """Logits whose softmax (sigmoid where a node may have several labels) are these probabilities."""
    p = probabilities.double().clamp(LEAST, 1 - LEAST)
    return (p.logit() if multilabel else p.log()).float()
