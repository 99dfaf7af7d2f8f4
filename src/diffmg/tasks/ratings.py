"""The paper's protocol: ratings become the edges of the network and the pairs of a recommendation task.

Of the pairs that were liked, one half is observed: these alone are edges. The other half are the positive pairs, split
3:1:1 into parts. Each part has as many negative pairs: those rated but not liked, filled up with pairs never rated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffmg.core import DiffmgError

Ints = NDArray[np.int64]
Random = np.random.Generator | np.random.RandomState
LIKED = 3.0
"""Pairs rated above this are liked, in the paper."""


@dataclass(frozen=True)
class Ratings:
    """Rated pairs, sorted by user and item, without duplicates."""

    pairs: Ints
    """Rows (user, item), counted from 0."""
    stars: NDArray[np.float64]
    shape: tuple[int, int]
    """Number of users and of items."""

    @classmethod
    def build(cls, pairs: ArrayLike, stars: ArrayLike, shape: tuple[int, int]) -> Ratings:
        """Sort rows (user, item); the first rating counts if a pair is rated twice."""
        rows = np.asarray(pairs, np.int64).reshape(-1, 2)
        outside = (rows < 0) | (rows >= np.asarray(shape))
        if outside.any():
            first = rows[outside.any(axis=1)][0].tolist()
            raise DiffmgError(
                f"ratings must have `0 <= user < {shape[0]}` and `0 <= item < {shape[1]}`, but got the pair {first}"
            )
        first_of = np.unique(rows[:, 0] * shape[1] + rows[:, 1], return_index=True)[1]
        return cls(rows[first_of], np.asarray(stars, np.float64)[first_of], shape)

    def unrated(self, ranks: Ints) -> Ints:
        """The pairs with these ranks among all unrated pairs, sorted by user and item."""
        rated = self.pairs[:, 0] * self.shape[1] + self.pairs[:, 1]
        before = rated - np.arange(len(rated))
        codes = ranks + np.searchsorted(before, ranks, side="right")
        return np.stack(np.divmod(codes, self.shape[1]), axis=1)

    @property
    def num_unrated(self) -> int:
        """How many pairs were never rated."""
        return self.shape[0] * self.shape[1] - len(self.pairs)


def fresh_split(ratings: Ratings, seed: int, liked: float = LIKED) -> dict[str, NDArray[np.int32]]:
    """A new random split: arrays `observed`, `pos_PART` and `neg_PART` of rows (user, item)."""
    rng = np.random.default_rng(seed)
    return split_ratings(ratings, rng, rng, liked)


def split_ratings(
    ratings: Ratings, for_positives: Random, for_negatives: Random, liked: float = LIKED
) -> dict[str, NDArray[np.int32]]:
    """The split drawn by these generators."""
    chosen = ratings.pairs[ratings.stars > liked]
    drawn = np.arange(len(chosen))
    for_positives.shuffle(drawn)
    observed, supervised = np.array_split(drawn, 2)
    for_positives.shuffle(supervised)
    count = len(supervised)
    negatives = _negatives(ratings, count, for_negatives, liked)
    boundaries = [int(count * 0.6), int(count * 0.8)]
    split = {"observed": chosen[observed]}
    for sign, pairs in (("pos", chosen[supervised]), ("neg", negatives)):
        for part, rows in zip(("train", "val", "test"), np.split(pairs, boundaries), strict=True):
            split[f"{sign}_{part}"] = rows
    return {key: rows.astype(np.int32) for key, rows in split.items()}


def _negatives(ratings: Ratings, count: int, rng: Random, liked: float) -> Ints:
    """`count` negative pairs in random order."""
    low = ratings.pairs[ratings.stars <= liked]
    if count > len(low):
        ranks = _distinct(rng, ratings.num_unrated, count - len(low))
        low = np.concatenate([low, ratings.unrated(ranks)])
    order = np.arange(len(low))
    rng.shuffle(order)
    return low[order[:count]]


def _distinct(rng: Random, below: int, count: int) -> Ints:
    """`count` distinct numbers; the authors shuffled all of them, which takes seconds and a gigabyte on Yelp."""
    if count > below:
        raise DiffmgError(f"there must be enough pairs never rated to fill up negatives ({count}), but got {below}")
    if isinstance(rng, np.random.Generator):
        return rng.choice(below, count, replace=False)
    everything = np.arange(below, dtype=np.int32 if below < 2**31 else np.int64)
    rng.shuffle(everything)
    return everything[:count].astype(np.int64)
