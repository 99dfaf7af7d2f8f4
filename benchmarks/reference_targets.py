"""Targets of the naive reference: losses as in the paper, scores by scikit-learn on the host."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.tasks import NodeClassification, Part, Recommendation, Task
from diffmg.tasks.pairs import Labelled


class NodeTargets:
    """Labels of nodes: cross-entropy, and F1 or accuracy."""

    def __init__(self, task: NodeClassification) -> None:
        self.task = task

    def predicted(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Logits of the part's nodes."""
        return outputs[0][self.task.parts[part]]

    def loss(self, logits: Tensor, part: Part) -> Tensor:
        """Cross-entropy; binary where a node may have several labels."""
        labels = self.task.labels[self.task.parts[part]]
        if labels.ndim == 2:
            return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return F.cross_entropy(logits, labels)

    def score(self, logits: Tensor, part: Part) -> float:
        """The task's metric."""
        true = self.task.labels[self.task.parts[part]].cpu().numpy()
        found = logits.detach().cpu().numpy()
        decided = (found > 0).astype(int) if true.ndim == 2 else found.argmax(axis=1)
        if self.task.metric == "accuracy":
            return float(accuracy_score(true, decided))
        average = self.task.metric.removesuffix("_f1")
        return float(f1_score(true, decided, average=average, zero_division=0))


class PairTargets:
    """Pairs of users and items: the paper's log-sigmoid loss, and AUC or average precision."""

    def __init__(self, task: Recommendation) -> None:
        self.metric = task.metric
        self.pairs = {part: _divided(labelled) for part, labelled in task.parts.items()}

    def predicted(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Dot products of the part's pairs, positive pairs first."""
        users, items = outputs
        return torch.cat([(users[left] * items[right]).sum(1) for left, right in self.pairs[part]])

    def loss(self, scores: Tensor, part: Part) -> Tensor:
        """Positive pairs should score high, negative ones low."""
        count = len(self.pairs[part][0][0])
        return -F.logsigmoid(scores[:count]).mean() - F.logsigmoid(-scores[count:]).mean()

    def score(self, scores: Tensor, part: Part) -> float:
        """The task's metric."""
        true = np.repeat([1, 0], [len(left) for left, _ in self.pairs[part]])
        measure = roc_auc_score if self.metric == "auc" else average_precision_score
        return float(measure(true, scores.detach().cpu().numpy()))


def targets_of(task: Task) -> NodeTargets | PairTargets:
    """The targets of a task."""
    if isinstance(task, NodeClassification):
        return NodeTargets(task)
    if isinstance(task, Recommendation):
        return PairTargets(task)
    raise DiffmgError(f"the reference knows NodeClassification and Recommendation, but got {type(task).__name__}")


def _divided(labelled: Labelled) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Users and items of the positive pairs, and of the negative ones."""
    left, right, positive = labelled.pairs.left.long(), labelled.pairs.right.long(), labelled.labels > 0
    return (left[positive], right[positive]), (left[~positive], right[~positive])
