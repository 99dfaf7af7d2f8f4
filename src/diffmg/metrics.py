"""Scores, computed where the tensors are; each returns a tensor of one number."""

from __future__ import annotations

import torch
from torch import Tensor


def accuracy(predicted: Tensor, true: Tensor) -> Tensor:
    """Share of rows that are right; with several labels a row (n, C), all of them must be."""
    right = predicted == true
    return (right if right.ndim == 1 else right.all(dim=1)).float().mean()


def macro_f1(predicted: Tensor, true: Tensor, classes: int) -> Tensor:
    """Mean of the classes' F1. Of class numbers (n,), classes in neither input are left out, as scikit-learn does."""
    hits, misses = _counts(predicted, true, classes)
    f1 = 2 * hits / (2 * hits + misses).clamp(min=1)
    if predicted.ndim == 2:
        return f1.mean()
    present = (hits + misses) > 0
    return (f1 * present).sum() / present.sum()


def micro_f1(predicted: Tensor, true: Tensor, classes: int) -> Tensor:
    """F1 over all decisions together."""
    hits, misses = _counts(predicted, true, classes)
    return 2 * hits.sum() / (2 * hits + misses).sum().clamp(min=1)


def _counts(predicted: Tensor, true: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Per class: true positives, and false positives plus false negatives."""
    if predicted.ndim == 2:
        hits = (predicted.bool() & true.bool()).sum(dim=0)
        total = predicted.bool().sum(dim=0) + true.bool().sum(dim=0)
    else:
        hits = torch.bincount(true[predicted == true], minlength=classes)
        total = torch.bincount(predicted, minlength=classes) + torch.bincount(true, minlength=classes)
    return hits.double(), (total - 2 * hits).double()


def auc(scores: Tensor, labels: Tensor) -> Tensor:
    """Area under the ROC curve; tied scores count half. `labels` holds 1 for positives, 0 for negatives."""
    ordered, order = scores.sort()
    positive = labels[order].double()
    last = torch.searchsorted(ordered, ordered, right=True)
    first = torch.searchsorted(ordered, ordered, right=False)
    rank = (first + 1 + last).double() / 2
    n_positive = positive.sum()
    n_negative = len(positive) - n_positive
    area = ((rank * positive).sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
    return _nan_if_any_is(scores, area)


def average_precision(scores: Tensor, labels: Tensor) -> Tensor:
    """Precision averaged over the positives, at the threshold each is found; ties share one threshold."""
    ordered, order = (-scores).sort()
    hits = labels[order].double().cumsum(0)
    last = torch.searchsorted(ordered, ordered, right=True) - 1
    precision = hits[last] / (last + 1)
    return _nan_if_any_is(scores, (precision * labels[order]).sum() / hits[-1])


def _nan_if_any_is(scores: Tensor, value: Tensor) -> Tensor:
    """Scores that are no numbers have no order: a model that diverged must not look good."""
    return torch.where(scores.isnan().any(), torch.nan, value)


def recall_at_k(hits: Tensor, relevant: Tensor) -> Tensor:
    """Mean over rows of the share of relevant items among the first k; `hits` (n, k) marks them, best first."""
    return (hits.sum(dim=1) / relevant).double().mean()


def ndcg_at_k(hits: Tensor, relevant: Tensor) -> Tensor:
    """Mean over rows of the discounted gain over the best possible; `relevant` (n,) counts the relevant items."""
    k = hits.shape[1]
    discount = 1 / torch.log2(torch.arange(2, k + 2, device=hits.device, dtype=torch.float64))
    best = discount.cumsum(0)[relevant.clamp(max=k).long() - 1]
    return ((hits.double() * discount).sum(dim=1) / best).mean()
