from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tasks.ratings import Ratings, fresh_split, split_ratings
from protocol import PARTS, assert_follows_the_protocol


@st.composite
def some_ratings(draw: st.DrawFn) -> Ratings:
    shape = (draw(st.integers(1, 12)), draw(st.integers(1, 12)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rated = rng.choice(shape[0] * shape[1], draw(st.integers(0, shape[0] * shape[1])), replace=False)
    pairs = np.stack(np.divmod(rated, shape[1]), axis=1)
    return Ratings.build(pairs, rng.integers(1, 6, len(rated)), shape)


@given(some_ratings(), st.integers(0, 2**40))
def test_any_ratings_are_split_by_the_protocol(ratings: Ratings, seed: int) -> None:
    needed = (ratings.stars > 3).sum() // 2 - (ratings.stars <= 3).sum()
    assume(needed <= ratings.num_unrated)
    assert_follows_the_protocol(fresh_split(ratings, seed), ratings)
    frozen = (np.random.RandomState(seed % 99), np.random.RandomState(seed % 98))
    assert_follows_the_protocol(split_ratings(ratings, *frozen), ratings)


@given(some_ratings())
def test_pairs_never_rated_are_found_by_their_place(ratings: Ratings) -> None:
    rated = {tuple(pair) for pair in ratings.pairs.tolist()}
    others = [(u, i) for u in range(ratings.shape[0]) for i in range(ratings.shape[1]) if (u, i) not in rated]
    assert ratings.num_unrated == len(others)
    assert list(map(tuple, ratings.unrated(np.arange(len(others))).tolist())) == others


def test_the_seed_decides() -> None:
    ratings = Ratings.build(np.argwhere(np.ones((9, 9))), np.tile([1, 2, 4, 5, 5, 3, 4, 1, 5], 9), (9, 9))
    one, same, other = (fresh_split(ratings, seed) for seed in (1, 1, 2))
    assert all((one[key] == same[key]).all() for key in one)
    assert any((one[key] != other[key]).any() for key in one)


def test_pairs_never_rated_are_drawn_evenly() -> None:
    pairs = np.array([[u, i] for u in range(4) for i in range(2)])
    ratings = Ratings.build(pairs, np.full(8, 5), (4, 4))
    hits = np.zeros((4, 4))
    for seed in range(400):
        split = fresh_split(ratings, seed)
        for part in PARTS:
            np.add.at(hits, tuple(split[f"neg_{part}"].T), 1)
    assert hits[:, :2].sum() == 0
    assert hits.sum() == 400 * 4
    assert (abs(hits[:, 2:] - 200) < 5 * np.sqrt(100)).all()


def test_ratings_are_put_in_order_and_the_first_of_two_counts() -> None:
    ratings = Ratings.build([[1, 0], [0, 1], [1, 0], [0, 0]], [5, 4, 1, 2], (2, 2))
    assert ratings.pairs.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert ratings.stars.tolist() == [2, 4, 5]


@pytest.mark.parametrize("pair", [[2, 0], [0, 3], [-1, 0]])
def test_a_pair_outside_is_named(pair: list[int]) -> None:
    with pytest.raises(DiffmgError, match=rf"`0 <= user < 2` and `0 <= item < 3`, but got the pair \[{pair[0]}, "):
        Ratings.build([[0, 0], pair], [5, 5], (2, 3))


def test_too_few_pairs_to_fill_up_with_are_named() -> None:
    ratings = Ratings.build(np.argwhere(np.ones((4, 4))), np.full(16, 5), (4, 4))
    with pytest.raises(DiffmgError, match=r"enough pairs never rated to fill up"):
        fresh_split(ratings, 0)
