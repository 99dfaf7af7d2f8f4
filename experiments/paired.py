"""Paired comparison of classifiers: the spread of a difference in macro F1 over resampled test nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
DRAWS = 1000
"""Bootstrap samples."""


def difference_error(one: Ints, other: Ints, true: Ints, *, draws: int = DRAWS, seed: int = 0) -> float:
    """Standard error of the mean macro F1 of `one` minus that of `other`, by bootstrap over test nodes.

    `one` and `other` are (runs, nodes) of predicted classes, `true` (nodes,). Every draw resamples the nodes for both
    alike, so what makes a node hard for both does not count.
    """
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(true), np.full(len(true), 1 / len(true)), draws).astype(np.float64)
    means = [np.mean([weighted_macro_f1(row, true, weights) for row in runs], axis=0) for runs in (one, other)]
    return float(np.std(means[0] - means[1], ddof=1))


def weighted_macro_f1(predicted: Ints, true: Ints, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Macro F1 for each row of `weights` (draws, nodes); classes that a draw does not have are left out."""
    classes = np.arange(max(predicted.max(), true.max()) + 1)
    said, right = predicted[:, None] == classes, true[:, None] == classes
    hits, total = weights @ (said & right), weights @ said + weights @ right
    scores = 2 * hits / np.maximum(total, 1)
    return np.asarray(scores.sum(axis=1) / np.maximum((total > 0).sum(axis=1), 1))
