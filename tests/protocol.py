"""The paper's protocol of splits, as a check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffmg.tasks.ratings import Ratings

PARTS = ("train", "val", "test")


def codes(pairs: np.ndarray, ratings: Ratings) -> np.ndarray:
    """Each pair as one number, sorted."""
    return np.sort(pairs[:, 0].astype(np.int64) * ratings.shape[1] + pairs[:, 1])


def assert_follows_the_protocol(split: Mapping[str, np.ndarray], ratings: Ratings) -> None:
    """Counts, balance, disjointness, and which pairs are where."""
    liked = codes(ratings.pairs[ratings.stars > 3], ratings)
    low = codes(ratings.pairs[ratings.stars <= 3], ratings)
    count = len(liked) // 2
    sizes = (int(0.6 * count), int(0.8 * count) - int(0.6 * count), count - int(0.8 * count))
    assert len(split["observed"]) == len(liked) - count
    for sign in ("pos", "neg"):
        assert tuple(len(split[f"{sign}_{part}"]) for part in PARTS) == sizes
    everything = {key: codes(rows, ratings) for key, rows in split.items()}
    assert len(np.unique(np.concatenate([*everything.values()]))) == sum(map(len, split.values()))
    positive = [everything["observed"], *(everything[f"pos_{part}"] for part in PARTS)]
    assert np.array_equal(np.sort(np.concatenate(positive)), liked)
    drawn = np.concatenate([everything[f"neg_{part}"] for part in PARTS])
    assert not np.isin(drawn, liked).any()
    assert np.isin(drawn, low).all() if len(low) >= count else np.isin(low, drawn).all()
    assert all(rows.dtype == np.int32 for rows in split.values())
