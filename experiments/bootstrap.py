"""Paired bootstrap: how sure the difference between two rows is, over other test examples and other seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.paired import weighted_macro_f1
from experiments.votes import Decided

DRAWS = 500
BATCH = 50
"""Draws at a time, for memory."""
Floats = NDArray[np.float64]
_Score = Callable[[NDArray[np.int64], NDArray[np.int64], Floats], Floats]


@dataclass(frozen=True)
class Truth:
    """The labels of all test examples: class numbers of nodes, or 1 and 0 of pairs."""

    labels: NDArray[np.int64]
    classes: bool
    """Whether they are classes, scored by macro F1; else pairs, scored by AUC."""


@dataclass(frozen=True)
class Difference:
    """A difference of mean scores, with the interval that holds 95 % of the draws."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """In percent."""
        return f"{100 * self.value:+.2f} [{100 * self.low:+.2f}, {100 * self.high:+.2f}]"


def drawn_scores(models: Sequence[Decided], truth: Truth, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Scores of models, (1 + draws, models): on all examples, then on each draw, which is the same for all models."""
    rng, size = np.random.default_rng(seed), len(truth.labels)
    score = weighted_macro_f1 if truth.classes else weighted_auc
    rows = [_scores(models, truth, np.ones((1, size)), score)]
    for start in range(0, draws, BATCH):
        picked = rng.integers(size, size=(min(BATCH, draws - start), size))
        weights = np.stack([np.bincount(row, minlength=size) for row in picked]).astype(np.float64)
        rows.append(_scores(models, truth, weights, score))
    return np.concatenate(rows)


def difference(one: Floats, other: Floats, *, seed: int = 0) -> Difference:
    """Mean over the models of `one` minus that of `other`, both from `drawn_scores` (1 + draws, seeds).

    Examples are paired; the seeds of the two rows are drawn anew separately, since they have nothing in common.
    """
    rng = np.random.default_rng(seed)
    gaps = _over_seeds(one[1:], rng) - _over_seeds(other[1:], rng)
    low, high = np.nanpercentile(gaps, (2.5, 97.5))
    return Difference(float(one[0].mean() - other[0].mean()), float(low), float(high))


def _over_seeds(scores: Floats, rng: np.random.Generator) -> Floats:
    draws, seeds = scores.shape
    picked = rng.integers(seeds, size=(draws, seeds))
    return np.asarray(np.take_along_axis(scores, picked, axis=1).mean(axis=1))


def _scores(models: Sequence[Decided], truth: Truth, weights: Floats, score: _Score) -> Floats:
    return np.stack([score(model.astype(np.int64), truth.labels, weights) for model in models], axis=1)


def weighted_auc(ranks: NDArray[np.int64], true: NDArray[np.int64], weights: Floats) -> Floats:
    """Of each row of weights; ties count half. NaN for a draw without positives or without negatives."""
    levels, found = int(ranks.max()) + 1, np.empty(len(weights))
    codes = ranks + levels * (true > 0)
    for number, row in enumerate(weights):
        low, high = np.bincount(codes, row, 2 * levels).reshape(2, levels)
        below = np.cumsum(low) - low / 2
        total = high.sum() * low.sum()
        found[number] = high @ below / total if total else np.nan
    return found
