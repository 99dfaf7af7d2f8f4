"""Dot products of a fixed list of row pairs, with a gradient made of sparse products."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Pairs:
    """A list of (left row, right row), sorted by left, with what its transpose needs.

    Scores are a dense product sampled at the pairs. Their gradient is `S(g) @ right` and `S(g)^T @ left`, where S(g) is
    the sparse matrix with g at the pairs: no scattered sums, so it is fast, and the same in every run.
    """

    left: Tensor
    right: Tensor
    left_pointer: Tensor
    right_pointer: Tensor
    by_right: Tensor
    """The order that sorts the pairs by right row."""
    left_by_right: Tensor
    """The left rows in that order."""

    @classmethod
    def build(cls, pairs: NDArray[np.int64], n_left: int, n_right: int) -> tuple[Pairs, NDArray[np.int64]]:
        """Build from rows (left, right); also returns the order the pairs were put in."""
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        left, right = pairs[order].T.astype(np.int32)
        by_right = np.argsort(right, kind="stable")
        tables = (left, right, _pointer(left, n_left), _pointer(right, n_right), by_right, left[by_right])
        return cls(*(torch.from_numpy(np.ascontiguousarray(table)) for table in tables)), order

    def to(self, device: torch.device | str) -> Pairs:
        """The same pairs elsewhere."""
        return Pairs(*(getattr(self, f.name).to(device) for f in fields(self)))

    def scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Dot product of each pair; left (n_left, d), right (n_right, d)."""
        scores: Tensor = _Scores.apply(left, right, self)  # type: ignore[no-untyped-call]
        return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.pairs = pairs
        shape = (len(left), len(right))
        blank = torch.zeros(len(pairs.left), dtype=left.dtype, device=left.device)
        places = torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, blank, shape, check_invariants=False)
        scores: Tensor = torch.sparse.sampled_addmm(places, left, right.T, beta=0.0).values()
        return scores

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (left, right), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        shape = (len(left), len(right))
        spread = torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, g, shape, check_invariants=False)
        back = torch.sparse_csr_tensor(
            pairs.right_pointer, pairs.left_by_right, g[pairs.by_right], shape[::-1], check_invariants=False
        )
        return spread @ right, back @ left, None


def _pointer(rows: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    return np.concatenate([[0], np.bincount(rows, minlength=count).cumsum()]).astype(np.int32)
