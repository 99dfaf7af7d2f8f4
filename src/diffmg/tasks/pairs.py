"""Pairs of rows: their dot products, whose gradient is two sparse products, and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import PARTS, DiffmgError, Part
from diffmg.graph.sparse import product
from diffmg.tasks.metrics import auc_of


@dataclass(frozen=True)
class Pairs:
    """A list of (left row, right row), sorted by left, with the CSR pointers of the matrix and its transpose.

    Scores are a dense product sampled at the pairs. Their gradient is `S(g) @ right` and `S(g)^T @ left`, where S(g) is
    the sparse matrix with g at the pairs: no scatter-add, so it is fast and deterministic.
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
        """The same pairs on another device."""
        return Pairs(*(getattr(self, f.name).to(device) for f in fields(self)))

    def redrawn(self, right: Tensor, times: int = 1) -> Pairs:
        """The same left rows, each `times` times in a row, with other right rows; nothing is read back to the host."""
        left = self.left.repeat_interleave(times)
        ordered, by_right = right.int().sort(stable=True)
        ends = torch.arange(len(self.right_pointer), dtype=torch.int32, device=right.device)
        pointer = torch.searchsorted(ordered, ends, out_int32=True)
        return Pairs(left, right.int(), self.left_pointer * times, pointer, by_right, left[by_right])

    def scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Dot product of each pair; left (n_left, d), right (n_right, d)."""
        if len(self.left) > len(left) * len(right):  # torch's sampled product has no more entries than the dense one
            return (left[self.left.long()] * right[self.right.long()]).sum(dim=1)
        scores: Tensor = _Scores.apply(left, right, self)  # type: ignore[no-untyped-call]
        return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.pairs = pairs
        shape = (len(left), len(right))
        zeros = torch.zeros(len(pairs.left), dtype=left.dtype, device=left.device)
        pattern = torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, zeros, shape, check_invariants=False)
        scores: Tensor = torch.sparse.sampled_addmm(pattern, left, right.T, beta=0.0).values()
        return scores

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (left, right), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        shape = (len(left), len(right))
        gradient = torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, g, shape, check_invariants=False)
        transposed = torch.sparse_csr_tensor(
            pairs.right_pointer, pairs.left_by_right, g[pairs.by_right], shape[::-1], check_invariants=False
        )
        return product(gradient, right), product(transposed, left), None


def _pointer(rows: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    return np.concatenate([[0], np.bincount(rows, minlength=count).cumsum()]).astype(np.int32)


@dataclass(frozen=True)
class Labelled:
    """Pairs of one part with their labels, 1 or 0, and what the loss and the metrics need."""

    pairs: Pairs
    labels: Tensor
    signs: Tensor
    """1 for positives, -1 for negatives."""
    shares: Tensor
    """One over the number of pairs with the same label."""
    positive: Tensor
    negative: Tensor
    """The indices of the positive and of the negative pairs."""

    @classmethod
    def build(cls, rows: tuple[NDArray[np.int64], ...], shape: tuple[int, int]) -> Labelled:
        """From rows (user, item) of positive and of negative pairs."""
        labels = np.repeat(np.array([1.0, 0.0], np.float32), [len(r) for r in rows])
        pairs, order = Pairs.build(np.concatenate(rows), *shape)
        return cls.of(pairs, torch.from_numpy(labels[order]))

    @classmethod
    def of(cls, pairs: Pairs, labels: Tensor) -> Labelled:
        """From pairs and their labels."""
        positive, negative = torch.nonzero(labels > 0).flatten(), torch.nonzero(labels <= 0).flatten()
        shares = labels / max(len(positive), 1) + (1 - labels) / max(len(negative), 1)
        return cls(pairs, labels, 2 * labels - 1, shares, positive, negative)

    def to(self, device: torch.device | str) -> Labelled:
        """The same pairs and labels on another device."""
        return Labelled(*(getattr(self, f.name).to(device) for f in fields(self)))

    def auc(self, scores: Tensor) -> Tensor:
        """Area under the ROC curve."""
        return auc_of(scores[self.positive], scores[self.negative])


def means(
    pairs: NDArray[np.int64], stars: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Each pair once, with the mean of its ratings: the same for any order of rows."""
    codes, place = np.unique(pairs[:, 0] * shape[1] + pairs[:, 1], return_inverse=True)
    if len(codes) == len(pairs):
        return pairs, stars
    order = np.lexsort((stars, place))  # a fixed order of summation makes the means bit-identical
    totals = np.bincount(place[order], stars[order])
    return np.stack(np.divmod(codes, shape[1]), axis=1), totals / np.bincount(place)


def checked_pairs(pairs: ArrayLike, shape: tuple[int, int], part: str) -> NDArray[np.int64]:
    """Rows (user, item) of whole numbers within the shape."""
    rows = np.asarray(pairs)
    if rows.size == 0:
        return np.empty((0, 2), np.int64)
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.issubdtype(rows.dtype, np.integer):
        raise DiffmgError(
            f"pairs of {part} must be rows (user, item) of whole numbers, but got {rows.dtype} of shape {rows.shape}"
        )
    if (rows < 0).any() or (rows >= np.asarray(shape)).any():
        raise DiffmgError(
            f"pairs of {part} must have `0 <= user < {shape[0]}` and `0 <= item < {shape[1]}`, "
            f"but got {rows.min(axis=0).tolist()} to {rows.max(axis=0).tolist()}"
        )
    return rows.astype(np.int64, copy=False)


def check_overlap(rows: Mapping[Part, tuple[NDArray[np.int64], ...]]) -> None:
    """Each part has positive and negative pairs, and no pair occurs twice."""
    for part in PARTS[:2]:
        if any(not len(r) for r in rows[part]):
            counts = [len(r) for r in rows[part]]
            raise DiffmgError(
                f"{part} needs positive and negative pairs, but got {counts[0]} positive and {counts[1]} negative"
            )
    everything = np.concatenate([r for part in PARTS for r in rows[part]])
    unique = np.unique(everything, axis=0)
    if len(unique) < len(everything):
        raise DiffmgError(
            "the parts of a split must not overlap and a pair has one label, "
            f"but got {len(everything) - len(unique)} pairs more than once"
        )
