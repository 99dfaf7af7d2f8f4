from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.tasks import top_items
from diffmg.tasks.top_items import TopItems, best_keys, decoded, keys_of

CPU = torch.device("cpu")
ODD = [-np.inf, -3.5, -1e-40, -0.0, 0.0, 1e-45, 2.0, np.inf]
"""Scores of every kind of which few are different, so that most are tied."""


def plain_order(scores: np.ndarray, k: int) -> list[int]:
    """The k best by a plain sort: the largest first, the smaller number first among equals."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]


@given(st.data(), st.integers(1, 90), st.integers(1, 9))
def test_the_best_columns_are_those_of_a_plain_sort_whatever_is_tied(data, columns, k):
    rows = data.draw(st.lists(st.lists(st.sampled_from(ODD), min_size=columns, max_size=columns), max_size=4))
    scores = np.array(rows, np.float32).reshape(-1, columns)
    numbers, values = decoded(best_keys(torch.from_numpy(scores), k, 7))
    assert numbers.tolist() == [[7 + i for i in plain_order(row, k)] for row in scores]
    np.testing.assert_array_equal(values.numpy(), [row[plain_order(row, k)] for row in scores] or values.numpy())


@pytest.mark.parametrize("columns", [10_000, 10_007, 9_999])
def test_many_columns_of_few_values(columns):
    draw = torch.Generator().manual_seed(0)
    scores = torch.randint(-3, 3, (5, columns), generator=draw).float()
    numbers, _ = decoded(best_keys(scores, 20))
    assert numbers.tolist() == [plain_order(row.numpy(), 20) for row in scores]


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2), st.integers(0, 2**31))
def test_keys_keep_the_order_and_give_back_what_they_hold(values, number):
    pair = torch.tensor(values)
    keys = keys_of(pair, torch.tensor([number, number + 1]))
    assert (keys[0] > keys[1]) == (values[0] >= values[1])
    numbers, again = decoded(keys)
    assert numbers.tolist() == [number, number + 1]
    assert torch.equal(again, pair)


def make(seed: int, users: int, items: int, k: int, share: float, **more: object) -> tuple[np.ndarray, TopItems]:
    """Whole numbers as representations, so that products are exact and often equal; what is hidden has score -inf."""
    draw = np.random.default_rng(seed)
    z_user, z_item = (torch.from_numpy(draw.integers(-2, 3, (n, 3)).astype(np.float32)) for n in (users, items))
    hidden = draw.random((users, items)) < share
    full = np.where(hidden, -np.inf, (z_user @ z_item.T).numpy())
    scored = lambda rows, some: z_user[rows] @ z_item[some].T  # noqa: E731
    return full, TopItems(scored, items, k, CPU, sp.csr_matrix(hidden), **more)  # type: ignore[arg-type]


@given(
    st.integers(0, 999), st.integers(1, 9), st.integers(0, 60), st.integers(1, 12), st.sampled_from([0.0, 0.3, 0.95])
)
@pytest.mark.parametrize("cells", [1, 30, 10**6])
def test_top_items_equal_brute_force_under_ties_and_with_few_candidates(cells, seed, users, items, k, share):
    full, top = make(seed, users, items, k, share)
    wanted = np.random.default_rng(seed).integers(0, users, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_items, "HOST_CELLS", cells)
        patch.setattr(top_items, "LEAST_USERS", 2)
        found, scores = top.of(wanted)
    assert found.shape == scores.shape == (7, min(k, items))
    assert found.tolist() == [plain_order(full[user], k) for user in wanted]
    np.testing.assert_array_equal(scores, np.take_along_axis(full[wanted], found, axis=1))


def test_items_may_have_numbers_of_their_own():
    full, top = make(3, 2, 5, 3, 0.0, numbers=np.array([2, 3, 5, 7, 11]))
    assert top.of(np.array([1]))[0].tolist() == [[[2, 3, 5, 7, 11][i] for i in plain_order(full[1], 3)]]


def test_nobody_is_answered_with_nothing():
    _, top = make(0, 3, 4, 2, 0.5)
    found, scores = top.of(np.empty(0, np.int64))
    assert found.shape == scores.shape == (0, 2)
