from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tasks.holding_out import after, at_random, back_to_training, moment_of, moments, the_last

USERS = st.lists(st.integers(0, 7), min_size=1, max_size=80).map(lambda u: np.array(sorted(u)))


@given(USERS, st.integers(0, 2**32), st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5, 0.0), (0.4, 0.3, 0.3)]))
def test_every_users_interactions_are_divided_by_the_shares(users, seed, shares):
    part = at_random(users, shares, seed)
    for user in np.unique(users):
        own = part[users == user]
        assert 0 in own
        for number, share in enumerate(shares[1:], 1):
            assert abs((own == number).sum() - share * len(own)) < 1, "rounded up or down, never further"


def test_the_shares_hold_on_the_whole_where_users_have_few():
    users = np.repeat(np.arange(20_000), 3)
    part = at_random(users, (0.8, 0.1, 0.1), 0)
    assert np.bincount(part) / len(part) == pytest.approx([0.8, 0.1, 0.1], abs=0.01)


def test_a_random_split_follows_from_its_seed():
    users = np.repeat(np.arange(50), 10)
    one, same, other = (at_random(users, (0.8, 0.1, 0.1), seed).tolist() for seed in (0, 0, 1))
    assert one == same != other


@pytest.mark.parametrize("shares", [(0.8, 0.0, 0.2), (0.5, 0.1, 0.1), (0.9, 0.2, -0.1)])
def test_shares_that_are_none(shares):
    with pytest.raises(DiffmgError, match="shares must be"):
        at_random(np.zeros(3, np.int64), shares, 0)


def test_items_that_training_would_not_know_stay_in_it():
    part, items = np.array([0, 1, 2, 1, 2]), np.array([5, 5, 6, 7, 5])
    assert back_to_training(part, items).tolist() == [0, 1, 0, 0, 2]


def test_the_last_two_of_each_user_are_held_out():
    users = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])
    when = np.array([3.0, 1.0, 4.0, 2.0, 1.0, 2.0, 5.0, 5.0, 5.0])
    part = the_last(users, when, np.ones(9, bool))
    assert part.tolist() == [1, 0, 2, 0, 0, 0, 0, 1, 2]


def test_what_was_disliked_is_in_the_part_of_its_time():
    users, liked = np.zeros(7, np.int64), np.array([1, 1, 1, 0, 0, 0, 0], bool)
    when = np.array([1.0, 2.0, 3.0, 0.5, 2.0, 2.5, 9.0])
    assert the_last(users, when, liked).tolist() == [0, 1, 2, 0, 1, 1, 2]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_dates_begin_the_parts(times):
    part = after(np.array(times, float), (5.0, 11.0))
    assert part.tolist() == [0 if t < 5 else 1 if t < 11 else 2 for t in times]


def test_dates_in_the_wrong_order():
    with pytest.raises(DiffmgError, match="must be before the second"):
        after(np.zeros(1), (2.0, 1.0))


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([pa.array([datetime(2024, 1, 31, 12), None, datetime(2024, 2, 1)])]),
        pa.chunked_array([pa.array(["2024-01-31 12:00:00", None, "2024-02-01"])]),
        pa.chunked_array([pa.array([date(2024, 1, 31), None, date(2024, 2, 1)])]),
    ],
    ids=["times", "text", "dates"],
)
def test_times_have_their_order_and_compare_with_dates(column):
    found = moments(column, "times")
    assert np.isnan(found[1])
    assert moment_of("2024-01-31", column, "times") <= found[0] < found[2] == moment_of("2024-02-01", column, "times")


def test_times_may_be_numbers():
    column = pa.chunked_array([pa.array([7, None, 3])])
    assert np.array_equal(moments(column, "times"), [7, np.nan, 3], equal_nan=True)
    assert moment_of("5", column, "times") == 5
    with pytest.raises(DiffmgError, match="but got '2024-01-01'"):
        moment_of("2024-01-01", column, "times")


def test_times_that_are_none():
    with pytest.raises(DiffmgError, match="must be dates, times or numbers"):
        moments(pa.chunked_array([pa.array(["soon", "later"])]), "times")
