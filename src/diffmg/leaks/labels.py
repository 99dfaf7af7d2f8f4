"""How well one signal alone predicts the labels, judged on rows it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, rankdata

FOLDS = 5
SURE = 0.95
"""Confidence of the lower bound."""
BINS = 64
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Kind = Literal["class", "number"]


@dataclass(frozen=True)
class Strength:
    """What a signal predicts alone: 1 is everything, 0 no more than the best constant."""

    value: float
    lower: float
    """Lower confidence bound."""
    score: float
    """The share of labels that are right; of numbers, the explained share of their ranks."""
    constant: float
    """The score of the best constant."""
    rows: int

    def __lt__(self, other: Strength) -> bool:
        return self.value < other.value


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels in random order, each in one of the folds; numbers count by their rank."""

    nodes: Ints
    kind: Kind
    values: NDArray[Any]
    """Class numbers, or ranks from 0 to 1."""
    folds: Ints

    @classmethod
    def of(cls, nodes: Ints, values: NDArray[Any], kind: Kind, most: int, seed: int = 0) -> Self:
        """At most `most` of the labelled nodes, drawn at random."""
        rng = np.random.default_rng(seed)
        drawn = rng.permutation(len(nodes))[:most]
        picked = values[drawn]
        if kind == "class":
            picked = np.unique(picked, return_inverse=True)[1].astype(np.int64)
        else:
            picked = (rankdata(picked) - 0.5) / max(1, len(picked))
        return cls(nodes[drawn], kind, picked, np.arange(len(drawn)) % FOLDS)

    def first(self, count: int) -> Self:
        """The first so many of them, which are a random part."""
        return self.where(np.arange(len(self.values)) < count)

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Some of them."""
        return replace(self, nodes=self.nodes[kept], values=self.values[kept], folds=self.folds[kept])

    @property
    def classes(self) -> int:
        """Number of classes; 1 column of sums for numbers."""
        return int(self.values.max(initial=0)) + 1 if self.kind == "class" else 1

    @property
    def marks(self) -> Floats:
        """One column per class; numbers as one column."""
        return np.eye(self.classes)[self.values] if self.kind == "class" else self.values[:, None].astype(np.float64)

    def ordered(self, values: Floats) -> Strength:
        """A signal of numbers, missing ones as a value of their own: by the nearest value, or by quantiles."""
        kinds, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        found = self.coded(codes.ravel(), kinds)
        if len(kinds) <= BINS:
            return found
        bins = ((np.cumsum(counts) - counts) * BINS // len(values))[codes.ravel()]
        return max(found, self.coded(bins, np.arange(float(BINS))[: bins.max() + 1]))

    def coded(self, codes: Ints, numbers: Floats | None = None) -> Strength:
        """A signal of codes: each is answered as in the other folds, unknown ones by a constant.

        Where codes stand for `numbers`, unknown ones are answered as the nearest known number.
        """
        size = int(codes.max(initial=0)) + 1
        sums, rows = np.zeros((FOLDS, size, self.classes)), np.zeros((FOLDS, size))
        np.add.at(sums, (self.folds, codes), self.marks)
        np.add.at(rows, (self.folds, codes), 1)
        rest, known = sums.sum(axis=0) - sums, rows.sum(axis=0) - rows
        if numbers is not None:
            place = _nearest(known > 0, numbers)
            rest, known = np.take_along_axis(rest, place[:, :, None], 1), np.take_along_axis(known, place, 1)
        usual = rest.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1)[:, None, None], 1)
        answers = np.where(known[:, :, None] > 0, rest / np.maximum(known, 1)[:, :, None], usual)
        return self.judged(answers[self.folds, codes])

    def judged(self, answers: Floats) -> Strength:
        """The strength of answers, one row per label: a score per class, or a number."""
        n = len(self.values)
        if self.kind == "class":
            constant = np.bincount(self.values).max(initial=0) / n
            wrong = int((answers.argmax(axis=1) != self.values).sum())
            worst = float(beta.ppf(SURE, wrong + 1, n - wrong)) if wrong < n else 1.0
            room = max(1 - constant, 1e-12)
            return Strength(1 - wrong / n / room, 1 - worst / room, 1 - wrong / n, float(constant), n)
        errors = (answers[:, 0] - self.values) ** 2
        spread = max(float(((self.values - self.values.mean()) ** 2).mean()), 1e-12)
        value, doubt = 1 - errors.mean() / spread, 1.645 * errors.std() / np.sqrt(n) / spread
        return Strength(float(value), float(value - doubt), float(value), 0.0, n)


def _nearest(known: NDArray[np.bool_], numbers: Floats) -> Ints:
    """For each place of each row the known place with the nearest number."""
    places = np.arange(known.shape[1])
    before = np.maximum.accumulate(np.where(known, places, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, places, len(places))[:, ::-1], axis=1)[:, ::-1]
    padded = np.append(numbers, np.nan)
    down = np.where(before < 0, np.inf, numbers - padded[before])
    up = np.where(after == len(places), np.inf, padded[after] - numbers)
    return np.where(np.nan_to_num(down, nan=np.inf) <= np.nan_to_num(up, nan=np.inf), np.maximum(before, 0), after)
