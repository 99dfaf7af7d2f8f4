"""Losses and scores of many trainings at once: outputs have a slot axis, results are one number a slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from diffmg.core import TASKS, Part, Task
from diffmg.nn.batched import BatchedModel
from diffmg.tasks.numbers import LOSSES, SCORES
from diffmg.tasks.pairs import Labelled
from diffmg.tasks.ranking import RANKED

Outputs = tuple[Tensor, ...]


class Objective(Protocol):
    """A task on outputs with a slot axis."""

    def gradients(self, model: BatchedModel, outputs: Outputs) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Gradients of the training loss by the outputs, and by the parameters behind them."""

    def evaluate(self, model: BatchedModel, outputs: Outputs) -> tuple[Tensor, Tensor]:
        """Validation loss and selection metric of each slot."""


def objective_of(task: Task, *, fused: bool) -> Objective | None:
    """The objective of a task, or None if it cannot be computed for many trainings at once."""
    if type(task) is TASKS.get("classification"):
        return Classes(task)
    if type(task) is TASKS.get("regression"):
        return Numbers(task)
    if type(task) is TASKS.get("recommendation") and task.metric == "auc":
        return FusedPairs(task) if fused else PlainPairs(task)
    return None


class PlainPairs:
    """Recommendation in plain torch."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def gradients(self, model: BatchedModel, outputs: Outputs) -> tuple[list[Tensor], dict[str, Tensor]]:
        """By autograd."""
        leaves = [z.detach().requires_grad_() for z in (*outputs, *model.biases)]
        labelled = self.task.parts["train"]
        found = torch.autograd.grad(_pair_loss(labelled, self.scores("train", leaves[:2], leaves[2:])).sum(), leaves)
        return list(found[:2]), {f"bias.{n}": g for n, g in enumerate(found[2:])}

    def evaluate(self, model: BatchedModel, outputs: Outputs) -> tuple[Tensor, Tensor]:
        """Loss and AUC from the same pair scores."""
        labelled, scores = self.task.parts["val"], self.scores("val", outputs, [b.detach() for b in model.biases])
        return _pair_loss(labelled, scores), batched_auc(scores[:, labelled.positive], scores[:, labelled.negative])

    def scores(self, part: Part, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
        """Dot products of the pairs, (slots, pairs)."""
        pairs = self.task.parts[part].pairs
        ends = (pairs.left.long(), pairs.right.long())
        scores = (outputs[0][:, ends[0]] * outputs[1][:, ends[1]]).sum(dim=-1)
        return scores + sum(b[:, end, 0] for b, end in zip(biases, ends, strict=True)) if biases else scores


class FusedPairs(PlainPairs):
    """Recommendation with the kernels."""

    def gradients(self, model: BatchedModel, outputs: Outputs) -> tuple[list[Tensor], dict[str, Tensor]]:
        """The loss's gradient by each score is known, so one pass over the pairs gives that of the left rows."""
        from diffmg.engine.batched_pairs import pair_gradients

        biases = [b.detach() for b in model.biases]
        found = pair_gradients(self.task.parts["train"], [z.detach() for z in outputs], biases)
        return found[:2], {f"bias.{n}": g for n, g in enumerate(found[2:])}

    def scores(self, part: Part, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
        """Dot products of the pairs, (slots, pairs)."""
        from diffmg.engine.batched_pairs import pair_scores

        return pair_scores(self.task.parts[part].pairs, outputs, biases)


class Classes:
    """Classification: a linear head on the labelled rows."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def gradients(self, model: BatchedModel, outputs: Outputs) -> tuple[list[Tensor], dict[str, Tensor]]:
        """By autograd; only labelled rows have one."""
        index = self.task.parts["train"]
        names = ("head.weight", "head.bias")
        leaves = [t.detach().requires_grad_() for t in (outputs[0][:, index], *(model.parameters[n] for n in names))]
        rows, *head = torch.autograd.grad(self._loss(_logits(*leaves), "train").sum(), leaves)
        whole = torch.zeros_like(outputs[0]).index_copy_(1, index, rows)
        return [whole], dict(zip(names, head, strict=True))

    def evaluate(self, model: BatchedModel, outputs: Outputs) -> tuple[Tensor, Tensor]:
        """Loss and the selection metric."""
        p = model.parameters
        logits = _logits(outputs[0][:, self.task.parts["val"]], p["head.weight"].detach(), p["head.bias"].detach())
        score = self._score(logits, self._true("val"))
        return self._loss(logits, "val"), torch.where(logits.isnan().any(dim=2).any(dim=1), torch.nan, score)

    def _true(self, part: Part) -> Tensor:
        labels: Tensor = self.task.labels[self.task.parts[part]]
        return labels

    def _loss(self, logits: Tensor, part: Part) -> Tensor:
        labels, weights = self._true(part), self.task.weights
        if self.task.multilabel:
            true = labels.float().expand_as(logits)
            each = F.binary_cross_entropy_with_logits(logits, true, reduction="none", pos_weight=weights)
            return each.mean(dim=(1, 2))
        each = F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(logits)), weight=weights, reduction="none")
        each = each.view(len(logits), -1)
        return each.mean(dim=1) if weights is None else each.sum(dim=1) / weights[labels].sum()

    def _score(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.task.metric in RANKED:
            ranked: Tensor = self.task.ranking(self.task.metric, logits, labels)
            return ranked
        classes, multilabel = torch.arange(self.task.outputs, device=logits.device), self.task.multilabel
        predicted = logits > 0 if multilabel else logits.argmax(dim=2, keepdim=True) == classes
        true = labels.bool() if multilabel else labels.unsqueeze(1) == classes
        if self.task.metric == "accuracy":
            return (predicted == true).all(dim=2).float().mean(dim=1)
        hits = (predicted & true).sum(dim=1).double()
        twice = predicted.sum(dim=1).double() + true.sum(dim=0)
        if self.task.metric == "micro_f1":
            return 2 * hits.sum(dim=1) / twice.sum(dim=1).clamp(min=1)
        f1 = 2 * hits / twice.clamp(min=1)
        return f1.mean(dim=1) if multilabel else (f1 * (twice > 0)).sum(dim=1) / (twice > 0).sum(dim=1)


class Numbers(Classes):
    """Regression: a linear head on the rows with numbers."""

    def _true(self, part: Part) -> Tensor:
        values: Tensor = self.task.values[self.task.parts[part]]
        return values

    def _loss(self, outputs: Tensor, part: Part) -> Tensor:
        true = self.task.scaled[self.task.parts[part]].expand_as(outputs)
        return LOSSES[self.task.error](outputs, true, reduction="none").mean(dim=(1, 2))

    def _score(self, outputs: Tensor, true: Tensor) -> Tensor:
        return SCORES[self.task.metric](self.task.scale.restored(outputs), true)


def batched_auc(positive: Tensor, negative: Tensor) -> Tensor:
    """Area under the ROC curve of each row; ties count half.

    One sort for all rows: the row's number stands above the bits of the score.
    """
    low, high = _keys(negative).flatten().sort().values, _keys(positive)
    below = torch.searchsorted(low, high, right=False) + torch.searchsorted(low, high, right=True)
    before = 2 * negative.shape[1] * torch.arange(len(low) // negative.shape[1], device=low.device)
    area = (below - before.unsqueeze(1)).double().sum(dim=1) / (2 * positive.shape[1] * negative.shape[1])
    lost = positive.isnan().any(dim=1) | negative.isnan().any(dim=1)
    return torch.where(lost, torch.nan, area)


def _keys(scores: Tensor) -> Tensor:
    """Whole numbers in the order of (row, score)."""
    bits = (scores + 0.0).contiguous().view(torch.int32)  # adding 0 turns -0 into 0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    rows = torch.arange(len(scores), device=scores.device).unsqueeze(1)
    return (rows << 32) + ordered + 2**31


def _pair_loss(labelled: Labelled, scores: Tensor) -> Tensor:
    return -(labelled.shares * F.logsigmoid(labelled.signs * scores)).sum(dim=1)


def _logits(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.baddbmm(bias.unsqueeze(1), rows, weight)
