"""The paper's protocol of splits, as a check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffmg.tasks.ratings import Ratings

PARTS = ("train", "val", "test")


def codes(pairs: np.ndarray, ratings: Ratings) -> set[int]:
    return set((pairs[:, 0].astype(int) * ratings.shape[1] + pairs[:, 1]).tolist())


def assert_follows_the_protocol(split: Mapping[str, np.ndarray], ratings: Ratings) -> None:
    """Counts, balance, disjointness, and which pairs are where."""
    liked = codes(ratings.pairs[ratings.stars > 3], ratings)
    low = codes(ratings.pairs[ratings.stars <= 3], ratings)
    count = len(liked) // 2
    sizes = (int(0.6 * count), int(0.8 * count) - int(0.6 * count), count - int(0.8 * count))
    assert len(split["observed"]) == len(liked) - count
    for sign in ("pos", "neg"):
        assert tuple(len(split[f"{sign}_{part}"]) for part in PARTS) == sizes
    positive = [codes(split[f"pos_{part}"], ratings) for part in PARTS]
    negative = [codes(split[f"neg_{part}"], ratings) for part in PARTS]
    everything = [codes(split["observed"], ratings), *positive, *negative]
    assert len(set().union(*everything)) == sum(map(len, everything)) == sum(map(len, split.values()))
    assert codes(split["observed"], ratings).union(*positive) == liked
    drawn = set().union(*negative)
    assert not drawn & liked
    assert drawn <= low if len(low) >= count else drawn >= low
    assert all(rows.dtype == np.int32 for rows in split.values())
