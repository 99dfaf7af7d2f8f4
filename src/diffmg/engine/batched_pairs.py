"""Pair scores of many trainings at once, their gradients, and products with sparse features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from diffmg.engine import batched_pair_kernels as kernels
from diffmg.engine.batched_slots import block_width
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.pairs import Labelled, Pairs

BLOCK, WARPS = 8, 1
"""Pairs or entries of a row read at once, and warps of a block."""


def pair_scores(pairs: Pairs, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    """Scores (slots, pairs): the dot product of each pair, plus both biases where there are any."""
    left = outputs[0]
    scores = left.new_empty(len(left), len(pairs.left))
    _launch_pairs(pairs, outputs, biases, scores)
    return scores


def pair_gradients(labelled: Labelled, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of the recommendation loss by both outputs, and by both biases where there are any."""
    pairs, (left, right) = labelled.pairs, outputs
    slopes = left.new_empty(len(left), len(pairs.left))
    found = [torch.empty_like(left), torch.empty_like(right)]
    sums = [left.new_empty(len(left), z.shape[1], 1) for z in outputs]
    _launch_pairs(pairs, outputs, biases, slopes, labelled, (found[0], sums[0]))
    kernels.sum_rows[(right.shape[1], len(left))](
        left, slopes, pairs.by_right, pairs.right_pointer, pairs.left_by_right, found[1], sums[1],
        right.shape[1], left.shape[1], len(pairs.left), **block_width(left.shape[-1]), BLOCK=BLOCK, OWN=True,
        num_warps=WARPS,
    )  # fmt: skip
    return [*found, *(sums if biases else [])]


def _launch_pairs(
    pairs: Pairs,
    outputs: Sequence[Tensor],
    biases: Sequence[Tensor],
    out: Tensor,
    labelled: Labelled | None = None,
    gradients: Sequence[Tensor] | None = None,
) -> None:
    left, right = outputs
    users, items = biases or outputs
    signs, shares = (out, out) if labelled is None else (labelled.signs, labelled.shares)
    grad, bias_grad = gradients or (out, out)
    kernels.pair_scores[(left.shape[1], len(left))](
        left, right, users, items, pairs.left_pointer, pairs.right, signs, shares, out, grad, bias_grad,
        left.shape[1], right.shape[1], len(pairs.left), **block_width(left.shape[-1]), BLOCK=BLOCK,
        BIASED=bool(biases), GRADIENT=gradients is not None, num_warps=WARPS,
    )  # fmt: skip


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, matrix: FixedMatrix) -> Tensor:
        ctx.matrix = matrix
        return _sum_rows(matrix.forward, weight)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        return _sum_rows(ctx.matrix.backward, grad_outputs[0].contiguous()), None


def features_times(matrix: FixedMatrix, weight: Tensor) -> Tensor:
    """A sparse matrix times (..., inputs, dim) for every slot and tower."""
    product: Tensor = _Features.apply(weight, matrix)  # type: ignore[no-untyped-call]
    return product


def _sum_rows(csr: Tensor, x: Tensor) -> Tensor:
    rows, columns = csr.shape
    out = x.new_empty(*x.shape[:-2], rows, x.shape[-1])
    kernels.sum_rows[(rows, x[..., 0, 0].numel())](
        x, csr.values(), csr.crow_indices(), csr.crow_indices(), csr.col_indices(), out, out, rows, columns,
        csr.values().numel(), **block_width(x.shape[-1]), BLOCK=BLOCK, OWN=False, num_warps=WARPS,
    )  # fmt: skip
    return out
