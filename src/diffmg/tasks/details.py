"""Details of test answers from plain arrays: scores per class, curves, calibration, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_curve, precision_recall_fscore_support, roc_curve

from diffmg.core.details import Bin, ClassScore, Confusion, Point, Residuals

SHOWN_CLASSES = 12
"""The most classes of a confusion matrix; the rarer ones are pooled."""
LISTED_CLASSES = 200
"""The most classes whose scores are kept."""
POINTS, SAMPLE, BINS = 80, 400, 10
PERCENT = (2.5, 10, 25, 50, 75, 90, 97.5)
OTHERS = "others"
Floats = NDArray[np.float64]


def class_scores(true: NDArray[Any], decided: NDArray[Any], names: Sequence[str]) -> tuple[ClassScore, ...]:
    """Precision, recall, F1 and support of the classes; of class numbers (n,) or zeros and ones (n, C).

    Of very many classes, the most frequent ones.
    """
    numbers = np.arange(len(names))
    found = precision_recall_fscore_support(true, decided, labels=numbers, zero_division=0)
    chosen = np.sort(np.argsort(-found[3], kind="stable")[:LISTED_CLASSES])
    rows = zip(chosen.tolist(), *(column[chosen].tolist() for column in found), strict=True)
    return tuple(ClassScore(str(names[i]), p, r, f, int(n)) for i, p, r, f, n in rows)


def confusion(true: NDArray[Any], decided: NDArray[Any], names: Sequence[str]) -> Confusion:
    """The confusion matrix; of many classes, the most frequent ones and all others together."""
    if len(names) <= SHOWN_CLASSES:
        counts = confusion_matrix(true, decided, labels=np.arange(len(names)))
        return Confusion(tuple(map(str, names)), _ints(counts))
    shown = np.sort(np.argsort(-np.bincount(true, minlength=len(names)), kind="stable")[: SHOWN_CLASSES - 1])
    place = np.full(len(names), len(shown))
    place[shown] = np.arange(len(shown))
    counts = confusion_matrix(place[true], place[decided], labels=np.arange(len(shown) + 1))
    return Confusion((*(str(names[i]) for i in shown), OTHERS), _ints(counts))


def rank_curves(positive: NDArray[Any], scores: Floats) -> dict[str, tuple[Point, ...]]:
    """The ROC curve and the precision-recall curve; none where there is only one class."""
    if positive.all() or not positive.any() or not np.isfinite(scores).all():
        return {}
    false, true, _ = roc_curve(positive, scores)
    precision, recall, _ = precision_recall_curve(positive, scores)
    return {"roc": thinned(false, true), "precision_recall": thinned(recall[::-1], precision[::-1])}


def calibration(happened: NDArray[Any], predicted: Floats) -> tuple[Bin, ...]:
    """Examples in up to ten bins of about the same size, by predicted probability; equal ones share a bin."""
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, predicted, side="left")
    bins = [place == number for number in range(len(edges) + 1)]
    return tuple(Bin(float(predicted[b].mean()), float(happened[b].mean()), int(b.sum())) for b in bins if b.any())


def residuals(name: str, true: Floats, predicted: Floats) -> Residuals:
    """A sample of the points, and quantiles of what was predicted minus the truth."""
    chosen = np.arange(len(true))
    if len(true) > SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(len(true), SAMPLE, replace=False))
    points = tuple(zip(true[chosen].tolist(), predicted[chosen].tolist(), strict=True))
    found = np.percentile(predicted - true, PERCENT).tolist()
    return Residuals(name, points, {f"{p:g}": q for p, q in zip(PERCENT, found, strict=True)})


def thinned(x: Floats, y: Floats) -> tuple[Point, ...]:
    """A curve by a limited number of its points, evenly along its length; the ends are kept."""
    if len(x) > POINTS:
        length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
        places = np.searchsorted(length, np.linspace(0, length[-1], POINTS))
        chosen = np.unique(np.concatenate([[0], places.clip(0, len(x) - 1), [len(x) - 1]]))
        x, y = x[chosen], y[chosen]
    return tuple(zip(x.astype(float).tolist(), y.astype(float).tolist(), strict=True))


def _ints(counts: NDArray[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, row)) for row in counts)
