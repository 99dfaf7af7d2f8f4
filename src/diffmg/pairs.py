"""Dot products of a fixed list of row pairs, with a gradient made of sparse products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Pairs:
    """A list of (left row, right row), sorted by left, with what its transpose needs.

    The gradient of the scores is `S(g) @ right` and `S(g)^T @ left`, where S(g) is the sparse matrix with g at the
    pairs: faster than scattered index-adds, and deterministic.
    """

    left: Tensor
    right: Tensor
    left_pointer: Tensor
    right_pointer: Tensor
    by_right: Tensor
    """The order that sorts the pairs by right row."""

    @classmethod
    def build(cls, pairs: NDArray[np.int64], n_left: int, n_right: int) -> tuple[Pairs, NDArray[np.int64]]:
        """Build from rows (left, right); also returns the order the pairs were put in."""
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        left, right = pairs[order].T
        by_right = np.argsort(right, kind="stable")
        built = cls(
            torch.from_numpy(np.ascontiguousarray(left)),
            torch.from_numpy(np.ascontiguousarray(right)),
            torch.from_numpy(_pointer(left, n_left)),
            torch.from_numpy(_pointer(right, n_right)),
            torch.from_numpy(by_right),
        )
        return built, order

    def to(self, device: torch.device | str) -> Pairs:
        """The same pairs elsewhere."""
        return Pairs(
            self.left.to(device),
            self.right.to(device),
            self.left_pointer.to(device),
            self.right_pointer.to(device),
            self.by_right.to(device),
        )

    def scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Dot product of each pair; left (n_left, d), right (n_right, d)."""
        scores: Tensor = _Scores.apply(left, right, self)  # type: ignore[no-untyped-call]
        return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.pairs = pairs
        return (left[pairs.left] * right[pairs.right]).sum(dim=1)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (left, right), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        shape = (len(left), len(right))
        spread = torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, g, shape, check_invariants=False)
        back = torch.sparse_csr_tensor(
            pairs.right_pointer, pairs.left[pairs.by_right], g[pairs.by_right], shape[::-1], check_invariants=False
        )
        return spread @ right, back @ left, None


def _pointer(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.bincount(rows, minlength=count).cumsum()]).astype(np.int64)
