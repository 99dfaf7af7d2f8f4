"""Attention of HAN and MAGNN: over what a node gets along one meta path, and over meta paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.errors import DiffmgError
from diffmg.nn import Affine

SLOPE = 0.2
"""Of the leaky ReLU in attention."""


def check_heads(dim: int, heads: int) -> None:
    """Raise if `dim` cannot be shared out to the heads."""
    if dim % heads:
        raise DiffmgError(f"`dim` must be a multiple of `heads`, but got dim={dim} and heads={heads}")


class Edges(nn.Module):
    """Pairs (node, neighbour), sorted by node: softmax over each node's pairs, and weighted sums of its neighbours."""

    rows: Tensor
    columns: Tensor

    def __init__(self, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> None:
        super().__init__()
        self.shape = shape
        numbered = sp.csr_matrix((np.arange(len(rows)), (rows, columns)), shape=shape)
        turned = sp.csr_matrix(numbered.T)
        turned.sort_indices()
        fixed = {"rows": rows, "columns": columns, "order": turned.data}
        for name, values in fixed.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)
        narrow = {"ends": numbered.indptr, "across": columns, "ends_back": turned.indptr, "across_back": turned.indices}
        for name, values in narrow.items():
            self.register_buffer(name, torch.from_numpy(values.astype(np.int32)), persistent=False)

    def softmax(self, scores: Tensor) -> Tensor:
        """Of (pairs, heads), over the pairs of each node."""
        return softmax_by_row(scores, self.rows, self.shape[0])

    def sums(self, weights: Tensor, x: Tensor) -> Tensor:
        """`Σ_j w_ij x_j` for each head: weights (pairs, heads), x (neighbours, heads, d); (nodes, heads, d)."""
        summed: Tensor = _Sums.apply(weights, x, self)  # type: ignore[no-untyped-call]
        return summed

    def matrix(self, weights: Tensor) -> Tensor:
        """The pairs as a CSR matrix with these weights."""
        ends, across = self.get_buffer("ends"), self.get_buffer("across")
        return torch.sparse_csr_tensor(ends, across, weights, size=self.shape, check_invariants=False)

    def transposed(self, weights: Tensor) -> Tensor:
        """The same, neighbours in rows."""
        ends, across = self.get_buffer("ends_back"), self.get_buffer("across_back")
        turned = weights[self.get_buffer("order")]
        return torch.sparse_csr_tensor(ends, across, turned, size=self.shape[::-1], check_invariants=False)


class _Sums(torch.autograd.Function):
    """A sparse product per head; no tensor of one row a pair is held but the weights."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, x: Tensor, edges: Edges) -> Tensor:
        ctx.save_for_backward(weights, x)
        ctx.edges = edges
        heads = zip(_by_head(weights), _by_head(x), strict=True)
        return torch.stack([edges.matrix(w) @ part for w, part in heads], dim=1)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (weights, x), edges = ctx.saved_tensors, ctx.edges
        heads = list(zip(_by_head(weights), _by_head(x), _by_head(grad_outputs[0]), strict=True))
        for_weights = [(g[edges.rows] * part[edges.columns]).sum(dim=-1) for _, part, g in heads]
        for_x = [edges.transposed(w) @ g for w, _, g in heads]
        return torch.stack(for_weights, dim=1), torch.stack(for_x, dim=1), None


def _by_head(x: Tensor) -> Tensor:
    """Heads first, each in one piece of memory, as sparse products need their values."""
    return x.transpose(0, 1).contiguous()


def softmax_by_row(scores: Tensor, rows: Tensor, count: int) -> Tensor:
    """Softmax of (n, heads) over the entries that have the same number in `rows`, (n,), all below `count`."""
    place = rows.unsqueeze(1).expand_as(scores)
    lowest = scores.new_full((count, scores.shape[1]), -torch.inf)
    highest = lowest.scatter_reduce(0, place, scores.detach(), "amax")
    powers = (scores - highest[rows]).exp()
    totals = powers.new_zeros(count, scores.shape[1]).index_add(0, rows, powers)
    return powers / totals[rows]


def vectors(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Vectors of the last dimension's length, uniform in ±1/sqrt(length)."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


class SemanticAttention(nn.Module):
    """One weight per meta path, the same for all nodes: softmax over the mean of `q · tanh(W z + b)` over nodes."""

    def __init__(self, dim: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.inner = Affine(dim, width, generator)
        self.query = vectors((width,), generator)

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        """The weighted sum of one state (nodes, dim) per path."""
        stacked = torch.stack(list(states))
        scores = torch.stack([torch.tanh(self.inner(z)).mean(dim=0) for z in states]) @ self.query
        return (scores.softmax(dim=0).view(-1, 1, 1) * stacked).sum(dim=0)


class OnlyPath(nn.Module):
    """What stands for attention over meta paths where there is one: nothing to weigh, nothing to learn."""

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        """The state of the path."""
        return states[0]


def semantic_attention(paths: int, dim: int, width: int, generator: torch.Generator) -> nn.Module:
    """Attention over so many meta paths."""
    return OnlyPath() if paths == 1 else SemanticAttention(dim, width, generator)
