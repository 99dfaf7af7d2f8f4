from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.tasks.negatives import Negatives, chances

NONE = sp.csr_matrix((4, 6), dtype=np.int32)


def epoch(number: int) -> torch.Tensor:
    return torch.tensor([number])


@given(st.lists(st.booleans(), min_size=24, max_size=24), st.integers(0, 2**31), st.integers(0, 1000))
def test_what_is_drawn_is_never_known(known, seed, number):
    known = np.array(known).reshape(4, 6)
    negatives = Negatives.build(sp.csr_matrix(known, dtype=np.int32), NONE)
    users = torch.arange(4).repeat_interleave(20)
    drawn = negatives.draw(users, epoch(number), seed)
    assert ((drawn >= 0) & (drawn < 6)).all()
    possible = negatives.has_any(users).numpy()
    assert np.array_equal(possible, ~known.all(axis=1)[users.numpy()])
    assert not known[users.numpy(), drawn.numpy()][possible].any()


def test_all_unknown_items_are_equally_likely():
    known = np.zeros((2, 7), dtype=np.int32)
    known[0, [0, 3]] = known[1, [6]] = 1
    negatives = Negatives.build(sp.csr_matrix(known), sp.csr_matrix(known.shape, dtype=np.int32))
    users = torch.arange(2).repeat_interleave(30_000)
    drawn = negatives.draw(users, epoch(5), 1).view(2, -1)
    for user, unknown in ((0, [1, 2, 4, 5, 6]), (1, [0, 1, 2, 3, 4, 5])):
        counts = torch.bincount(drawn[user], minlength=7)
        assert counts.nonzero().flatten().tolist() == unknown
        expected = 30_000 / len(unknown)
        assert float(((counts[unknown] - expected) ** 2 / expected).sum()) < 25, counts  # chi-square, p < 0.0001


def test_draws_follow_from_seed_and_epoch():
    one, same, later, other = (
        chances(1000, epoch(e), seed, "x").tolist() for e, seed in ((3, 1), (3, 1), (4, 1), (3, 2))
    )
    assert one == same
    assert not set(one) & set(later)
    assert not set(one) & set(other)
    assert np.corrcoef(one, later)[0, 1] == pytest.approx(0, abs=0.15)
    assert 0 <= min(one) < max(one) < 1


def test_numbers_are_those_of_splitmix64():
    from diffmg.core import derive_seed

    state, found = derive_seed(7, "negatives") % 2**62, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        found.append(((z ^ (z >> 31)) >> 11) / 2**53)
    assert chances(5, epoch(0), 7).tolist() == found


def test_a_share_of_what_is_drawn_was_disliked():
    low = np.zeros((3, 50), dtype=np.int32)
    low[0, [3, 9]] = low[1, 4] = 1
    negatives = Negatives.build(sp.csr_matrix(low), sp.csr_matrix(low))
    users = torch.arange(3).repeat_interleave(4000)
    drawn = negatives.draw(users, epoch(0), 0, hard=0.3).view(3, -1)
    shares = [np.isin(row.numpy(), np.flatnonzero(marks)).mean() for row, marks in zip(drawn, low, strict=True)]
    assert shares[:2] == pytest.approx([0.3, 0.3], abs=0.03)
    assert shares[2] == 0
    plain = negatives.draw(users, epoch(0), 0)
    assert not low[users.numpy(), plain.numpy()].any()
