from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from diffmg.tasks.pairs import Pairs

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_do_not_hang_on_what_memory_held_before(poisoned, dtype):
    """Many pairs, so that memory that held NaN is reused."""
    rng = np.random.default_rng(0)
    rows = np.stack(np.divmod(rng.choice(600 * 40, 5000, replace=False), 40), axis=1)
    built, order = Pairs.build(rows, 600, 40)
    draw = torch.Generator().manual_seed(0)
    left, right = (torch.randn(n, 6, generator=draw, dtype=dtype).requires_grad_() for n in (600, 40))
    wanted = np.einsum("ij,ij->i", *(t.detach().double().numpy()[rows[order, n]] for n, t in enumerate((left, right))))
    for _ in range(5):
        used = [torch.full((5000,), torch.nan, dtype=dtype) for _ in range(8)]
        del used
        scores = built.scores(left, right)
        np.testing.assert_allclose(scores.detach().double().numpy(), wanted, atol=1e-5)
        grads = torch.autograd.grad(scores.sum(), (left, right))
        assert all(g.isfinite().all() for g in grads)


def test_what_is_no_number_shows_in_its_pairs_alone():
    built, _ = Pairs.build(as_array([(0, 0), (1, 0), (1, 2), (3, 2)]), *ROWS)
    left, right = (t.detach() for t in representations())
    left[1] = torch.nan
    assert built.scores(left, right).isnan().tolist() == [False, True, True, False]


@given(lists_of_pairs)
@example([])
@example([(2, 1), (2, 1)])
def test_gradients_are_right_by_finite_differences(pairs):
    built, _ = Pairs.build(as_array(pairs), *ROWS)
    assert torch.autograd.gradcheck(built.scores, representations())


def test_tables_have_small_indices():
    """32 bits: sparse products convert other types in every call."""
    built, _ = Pairs.build(as_array([(0, 0), (3, 1), (3, 0)]), *ROWS)
    tables = (built.left, built.right, built.left_pointer, built.right_pointer, built.left_by_right)
    assert {t.dtype for t in tables} == {torch.int32}
    assert built.left_pointer.tolist() == [0, 1, 1, 1, 3]
    assert built.right_pointer.tolist() == [0, 2, 3, 3]
    assert built.left_by_right.tolist() == built.left[built.by_right].tolist() == [0, 3, 3]


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
