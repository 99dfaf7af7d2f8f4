"""Metrics, computed on the tensors' device; each returns a scalar tensor."""

import numpy as np
import torch
from torch import Tensor


def accuracy(predicted: Tensor, true: Tensor) -> Tensor:
    """Share of correct rows; with several labels per row (n, C), all of them must be correct."""
    right = predicted == true
    return (right if right.ndim == 1 else right.all(dim=1)).float().mean()


def macro_f1(predicted: Tensor, true: Tensor, classes: int) -> Tensor:
    """Mean F1 over classes. For class numbers (n,), classes in neither input are left out, as in scikit-learn."""
    hits, misses = _counts(predicted, true, classes)
    f1 = 2 * hits / (2 * hits + misses).clamp(min=1)
    if predicted.ndim == 2:
        return f1.mean()
    present = (hits + misses) > 0
    return (f1 * present).sum() / present.sum()


def micro_f1(predicted: Tensor, true: Tensor, classes: int) -> Tensor:
    """F1 pooled over all decisions."""
    hits, misses = _counts(predicted, true, classes)
    return 2 * hits.sum() / (2 * hits + misses).sum().clamp(min=1)


def _counts(predicted: Tensor, true: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Per class: true positives, and false positives plus false negatives."""
    if predicted.ndim == 1:
        numbers = torch.arange(classes, device=predicted.device)
        predicted, true = predicted.unsqueeze(1) == numbers, true.unsqueeze(1) == numbers
    hits = (predicted.bool() & true.bool()).sum(dim=0)
    total = predicted.bool().sum(dim=0) + true.bool().sum(dim=0)
    return hits.double(), (total - 2 * hits).double()


def auc(scores: Tensor, labels: Tensor) -> Tensor:
    """Area under the ROC curve along the last axis; tied scores count half, labels are 1 for positives and 0 else.

    NaN where all labels are the same. Nothing is read back from the device, so that it can be captured.
    """
    scores, positive = scores.detach().contiguous(), (labels > 0).expand_as(scores)
    ordered = _sorted(scores)
    below = torch.searchsorted(ordered, scores, right=False) + torch.searchsorted(ordered, scores, right=True)
    count = positive.sum(dim=-1)
    twice = (below * positive).sum(dim=-1) - count**2  # without the pairs of two positives
    area = twice.double() / (2 * count * (scores.shape[-1] - count))  # 0 / 0 = NaN
    return _nan_if_any_nan(scores, area)


def auc_of(positive: Tensor, negative: Tensor) -> Tensor:
    """The share of (positive, negative) pairs in which the positive scores higher; ties count half."""
    high, low = _sorted(positive), _sorted(negative)
    below = torch.searchsorted(low, high, right=False) + torch.searchsorted(low, high, right=True)
    area = below.double().sum() / (2 * len(high) * len(low))  # 0 / 0 = NaN if one side is empty
    return torch.where(positive.isnan().any() | negative.isnan().any(), torch.nan, area)


def _sorted(values: Tensor) -> Tensor:
    """Ascending; on a CPU numpy's sort is several times faster than torch's, which also returns the indices."""
    values = values.detach()
    return torch.from_numpy(np.sort(values.numpy())) if values.is_cpu else values.sort().values


def average_precision(scores: Tensor, labels: Tensor) -> Tensor:
    """Precision averaged over the positives, at the threshold each is found; ties share one threshold.

    Along the last axis; NaN where nothing is positive.
    """
    ordered, order = (-scores.detach()).contiguous().sort(dim=-1)
    positive = (labels > 0).expand_as(scores).gather(-1, order)
    hits = positive.cumsum(dim=-1)
    last = torch.searchsorted(ordered, ordered, right=True) - 1
    precision = hits.gather(-1, last).double() / (last + 1)
    return _nan_if_any_nan(scores, (precision * positive).sum(dim=-1) / hits[..., -1])


def _nan_if_any_nan(scores: Tensor, value: Tensor) -> Tensor:
    """NaN scores have no order: a model that diverged must not look good."""
    return torch.where(scores.isnan().any(dim=-1), torch.nan, value)


def recall_at_k(hits: Tensor, relevant: Tensor) -> Tensor:
    """Mean over rows of the share of relevant items among the first k; `hits` (n, k) marks them, best first."""
    return (hits.sum(dim=1) / relevant).double().mean()


def ndcg_at_k(hits: Tensor, relevant: Tensor) -> Tensor:
    """Mean over rows of the discounted gain over the best possible; `relevant` (n,) counts the relevant items."""
    k = hits.shape[1]
    discount = 1 / torch.log2(torch.arange(2, k + 2, device=hits.device, dtype=torch.float64))
    best = discount.cumsum(0)[relevant.clamp(max=k).long() - 1]
    return ((hits.double() * discount).sum(dim=1) / best).mean()


def mae(predicted: Tensor, true: Tensor) -> Tensor:
    """Mean absolute error; of several columns (..., n, T) the mean of theirs, as in scikit-learn."""
    return (predicted - true).abs().mean(dim=(-2, -1))


def rmse(predicted: Tensor, true: Tensor) -> Tensor:
    """Root of the mean squared error; of several columns (..., n, T) the mean of theirs, as in scikit-learn."""
    return (predicted - true).square().mean(dim=-2).sqrt().mean(dim=-1)


def r2(predicted: Tensor, true: Tensor) -> Tensor:
    """Share of the variance that is explained; of several columns (..., n, T) the mean of theirs.

    As in scikit-learn, a column that does not vary counts 1 where it is met exactly, else 0.
    """
    missed = (predicted - true).square().sum(dim=-2)
    total = (true - true.mean(dim=-2, keepdim=True)).square().sum(dim=-2)
    constant = true.amax(dim=-2) == true.amin(dim=-2)
    exact = (missed == 0).to(missed.dtype) + 0 * missed  # NaN stays NaN
    return torch.where(constant, exact, 1 - missed / total).mean(dim=-1)
