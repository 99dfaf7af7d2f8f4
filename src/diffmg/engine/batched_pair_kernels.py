"""Triton kernels of pair scores, their gradients, and products with sparse matrices, for every slot."""

from __future__ import annotations

import triton
import triton.language as tl

# fmt: off


@triton.jit
def pair_scores(
    left: tl.tensor, right: tl.tensor, left_bias: tl.tensor, right_bias: tl.tensor, pointer: tl.tensor,
    columns: tl.tensor, signs: tl.tensor, shares: tl.tensor, out: tl.tensor, grad: tl.tensor, bias_grad: tl.tensor,
    n_left: tl.tensor, n_right: tl.tensor, pairs: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, BIASED: tl.constexpr, GRADIENT: tl.constexpr,
) -> None:
    """Scores of the pairs of one left row; or the loss's gradient by each score, and with it that of the left row.

    Grid: left row, slot.
    """
    row = tl.program_id(0)
    slot = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    mine = tl.load(left + (slot * n_left + row) * WIDTH + d, mask=d < WIDTH, other=0.0)
    high = tl.load(pointer + row + 1)
    total = tl.zeros([BLOCK, D], tl.float32)
    slopes = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(pointer + row), high, BLOCK):
        entry = start + tl.arange(0, BLOCK)
        there = entry < high
        column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
        inside = there[:, None] & (d < WIDTH)[None, :]
        other = tl.load(right + (slot * n_right + column[:, None]) * WIDTH + d[None, :], mask=inside, other=0.0)
        score = tl.sum(other * mine[None, :], axis=1)
        if BIASED:
            score += tl.load(left_bias + slot * n_left + row)
            score += tl.load(right_bias + slot * n_right + column, mask=there, other=0.0)
        if GRADIENT:
            sign = tl.load(signs + entry, mask=there, other=0.0)
            share = tl.load(shares + entry, mask=there, other=0.0)
            slope = -share * sign / (1 + tl.exp(sign * score))
            total += slope[:, None] * other
            slopes += slope
            score = slope
        tl.store(out + slot * pairs + entry, score, mask=there)
    if GRADIENT:
        tl.store(grad + (slot * n_left + row) * WIDTH + d, tl.sum(total, axis=0), mask=d < WIDTH)
        if BIASED:
            tl.store(bias_grad + slot * n_left + row, tl.sum(slopes, axis=0))


@triton.jit
def sum_rows(
    x: tl.tensor, values: tl.tensor, order: tl.tensor, pointer: tl.tensor, columns: tl.tensor, out: tl.tensor,
    sums: tl.tensor, n: tl.tensor, columns_n: tl.tensor, entries: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, OWN: tl.constexpr,
) -> None:
    """Σ values * x[columns] of one row of a sparse matrix, for every slot. Grid: row, slot.

    With OWN each slot has its own values, read in `order`, and `sums` gets the sum of each row's values.
    """
    row = tl.program_id(0)
    slot = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    high = tl.load(pointer + row + 1)
    total = tl.zeros([BLOCK, D], tl.float32)
    alone = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(pointer + row), high, BLOCK):
        entry = start + tl.arange(0, BLOCK)
        there = entry < high
        column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
        if OWN:
            place = tl.load(order + entry, mask=there, other=0).to(tl.int64)
            value = tl.load(values + slot * entries + place, mask=there, other=0.0)
            alone += value
        else:
            value = tl.load(values + entry, mask=there, other=0.0)
        inside = there[:, None] & (d < WIDTH)[None, :]
        rows = tl.load(x + (slot * columns_n + column[:, None]) * WIDTH + d[None, :], mask=inside, other=0.0)
        total += value[:, None] * rows
    tl.store(out + (slot * n + row) * WIDTH + d, tl.sum(total, axis=0), mask=d < WIDTH)
    if OWN:
        tl.store(sums + slot * n + row, tl.sum(alone, axis=0))
