from __future__ import annotations

import numpy as np
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from diffmg.pairs import Pairs

ROWS = (4, 3)
lists_of_pairs = st.lists(st.tuples(st.integers(0, ROWS[0] - 1), st.integers(0, ROWS[1] - 1)), max_size=12)


def as_array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def representations() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    left, right = (torch.randn(n, 2, generator=draw, dtype=torch.float64) for n in ROWS)
    return left.requires_grad_(), right.requires_grad_()


@given(lists_of_pairs)
@example([])
@example([(3, 2)])
@example([(1, 1), (1, 1), (0, 1), (1, 1)])
def test_scores_and_gradients_equal_plain_indexing(pairs):
    rows = as_array(pairs)
    built, order = Pairs.build(rows, *ROWS)
    left, right = representations()
    scores = built.scores(left, right)
    sorted_rows = torch.from_numpy(rows[order])
    plain = (left[sorted_rows[:, 0]] * right[sorted_rows[:, 1]]).sum(dim=1)
    torch.testing.assert_close(scores, plain)
    cotangent = torch.arange(1.0, len(rows) + 1, dtype=torch.float64)
    got = torch.autograd.grad(scores @ cotangent, (left, right))
    wanted = torch.autograd.grad(plain @ cotangent, (left, right))
    torch.testing.assert_close(got, wanted)


@given(lists_of_pairs)
def test_order_brings_the_given_pairs_into_the_sorted_ones(pairs):
    rows = as_array(pairs)
    built, order = Pairs.build(rows, *ROWS)
    assert list(zip(built.left.tolist(), built.right.tolist(), strict=True)) == sorted(pairs)
    assert rows[order].tolist() == [list(pair) for pair in sorted(pairs)]


def test_gradient_of_an_expanded_cotangent():
    """The sum's gradient is one number seen as many: not contiguous in memory."""
    built, _ = Pairs.build(as_array([(0, 0), (0, 1), (2, 1)]), *ROWS)
    left, right = representations()
    built.scores(left, right).sum().backward()
    torch.testing.assert_close(left.grad[0], (right[0] + right[1]).detach())
    torch.testing.assert_close(right.grad[1], (left[0] + left[2]).detach())


def test_pairs_move_as_a_whole():
    built, _ = Pairs.build(as_array([(0, 0), (3, 1)]), *ROWS)
    moved = built.to("cpu")
    assert torch.equal(moved.scores(*representations()), built.scores(*representations()))
