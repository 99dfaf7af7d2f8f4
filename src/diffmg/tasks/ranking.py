"""Scores of the order in which a classifier puts nodes: each class against the rest, or the positive one of two."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from diffmg.tasks.metrics import auc, average_precision

RANKED: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {"roc_auc": auc, "average_precision": average_precision}
"""Metrics of an order, by name; each takes scores and marks (..., n)."""


def marks_of(labels: Tensor, classes: int, positive: int | None) -> Tensor:
    """What is to be told from the rest, (K, n): each class or label, or the positive one of two classes alone."""
    if labels.ndim == 2:
        return labels.T > 0
    first, last = (0, classes) if positive is None else (positive, positive + 1)
    return labels == torch.arange(first, last, device=labels.device).unsqueeze(1)


def ranking_score(metric: str, logits: Tensor, marks: Tensor, positive: int | None, *, multilabel: bool) -> Tensor:
    """The mean of a metric over the rows of `marks` in which it is defined; logits (..., n, C) give (...).

    NaN where it is defined in none.
    """
    values = RANKED[metric](_log_odds(logits, positive, multilabel=multilabel), marks)
    count = marks.sum(dim=-1)
    defined = (count > 0) & (count < marks.shape[-1]) if metric == "roc_auc" else count > 0
    return torch.where(defined, values, 0.0).sum(dim=-1) / defined.sum()


def has_order(marks: Tensor) -> bool:
    """Whether some row of marks has both what is marked and what is not."""
    return bool((marks.any(dim=-1) & ~marks.all(dim=-1)).any())


def effective_size(marks: Tensor) -> float:
    """How many examples the mean of a metric rests on, as if it were a share of so many.

    The variance of an area A under the ROC curve is at most A (1 - A) / m, with m the smaller of the two groups
    (Birnbaum and Klose, 1957); the mean over rows has the mean of their variances over their number.
    """
    count = marks.sum(dim=-1)
    smaller = torch.minimum(count, marks.shape[-1] - count)
    smaller = smaller[smaller > 0].double()
    return float(len(smaller) ** 2 / (1 / smaller).sum()) if len(smaller) else 0.0


def margin(logits: Tensor, *, several: bool) -> tuple[Tensor, int]:
    """How far the likeliest class is ahead of the mean of the others, and its number; of labels (`several`), its logit.

    Logits are those of one node, (C,).
    """
    best = int(logits.argmax())
    rest = 0.0 if several or len(logits) < 2 else (logits.sum() - logits[best]) / (len(logits) - 1)
    return logits[best] - rest, best


def _log_odds(logits: Tensor, positive: int | None, *, multilabel: bool) -> Tensor:
    """Scores (..., K, n) in the order of the probabilities; in double precision, so that sure answers are not tied."""
    if multilabel:
        return logits.transpose(-1, -2)
    logits = logits.double()
    if positive is not None:
        return (logits[..., positive] - logits[..., 1 - positive]).unsqueeze(-2)
    return logits.log_softmax(dim=-1).transpose(-1, -2)
