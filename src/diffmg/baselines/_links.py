"""Attention along links as products of sparse matrices whose entries are learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.baselines._held import HeldPairs
from diffmg.baselines._stacked import glorot
from diffmg.nn.encoder import dropout
from diffmg.pairs import Pairs


class Attention(nn.Module):
    """The parameters of one layer: W, and for every head a vector for the node and one for its neighbour."""

    def __init__(self, dim: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.own = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))
        self.other = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))

    def forward(self, h: Tensor, links: Links, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """From (nodes, dim) to (nodes, dim); `drop` is what happens to the attention."""
        x = self.heads_of(h)
        attention = links.softmax(F.leaky_relu(self.logits(x, links), 0.2))
        return links.gather(drop(attention), x) + self.bias

    def heads_of(self, h: Tensor) -> Tensor:
        """`h W`, (nodes, dim), as (heads, nodes, dim / heads)."""
        return (h @ self.weight).view(len(h), len(self.own), -1).transpose(0, 1).contiguous()

    def logits(self, x: Tensor, links: Links) -> Tensor:
        """For every head and link, what its two ends say of it, (heads, links)."""
        own, other = x @ self.own, x @ self.other
        one = torch.ones_like(own)
        left, right = torch.cat([own, one], dim=2), torch.cat([one, other], dim=2)
        return _dots(left.flatten(0, 1), right.flatten(0, 1), links.pairs).view(len(x), -1)


class Links(nn.Module):
    """Links (target, source), as many times as there are heads: head h has its own copy of every node.

    So the heads are the blocks of one sparse matrix; sums along links are its products, in both directions, which is
    the same in every run and needs no row of numbers for each link.
    """

    def __init__(self, links: NDArray[np.int64], nodes: int, heads: int) -> None:
        """Every node must be the target of a link; links may occur more than once; `order` is how they were sorted."""
        super().__init__()
        self.heads, self.rows = heads, heads * nodes
        self.order = np.lexsort((links[:, 1], links[:, 0]))
        copies = (links[self.order] + nodes * np.arange(heads)[:, None, None]).reshape(-1, 2)
        pairs, _ = Pairs.build(copies, self.rows, self.rows)
        self.held = HeldPairs(pairs)

    @property
    def pairs(self) -> Pairs:
        """Left rows are targets, right rows are sources."""
        return self.held.pairs

    def softmax(self, logits: Tensor) -> Tensor:
        """Over the links into each node, (heads, links)."""
        attention: Tensor = _Softmax.apply(logits.flatten(), self.pairs, self.rows)  # type: ignore[no-untyped-call]
        return attention.view_as(logits)

    def gather(self, attention: Tensor, x: Tensor) -> Tensor:
        """Sums of neighbours' rows, weighted (heads, links), from (heads, nodes, d) to (nodes, heads * d)."""
        z = weighted_sums(attention.flatten(), x.flatten(0, 1), self.pairs, self.rows)
        return z.view_as(x).transpose(0, 1).flatten(1)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, pairs: Pairs, rows: int) -> Tensor:
        low = logits.new_full((rows,), -torch.inf)
        top = low.scatter_reduce(0, pairs.left.long(), logits, "amax")
        weights = torch.exp(logits - top[pairs.left])
        attention = weights / _sums(weights, pairs, rows)
        ctx.pairs, ctx.rows = pairs, rows
        ctx.save_for_backward(attention)
        return attention

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (attention,), g = ctx.saved_tensors, grad_outputs[0]
        return attention * (g - _sums(attention * g, ctx.pairs, ctx.rows)), None, None


def weighted_sums(weights: Tensor, values: Tensor, pairs: Pairs, rows: int) -> Tensor:
    """For each of so many left rows, the sum of `weight * value` over its pairs; values (right rows, d), (rows, d)."""
    sums: Tensor = _WeightedSums.apply(weights, values, pairs, rows)  # type: ignore[no-untyped-call]
    return sums


class _WeightedSums(torch.autograd.Function):
    """A sparse product whose entries are learned: its gradients are a sampled product and the transposed one."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, pairs: Pairs, rows: int) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.pairs, ctx.shape = pairs, (rows, len(values))
        return _matrix(weights, pairs, ctx.shape) @ values

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (weights, values), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        back = torch.sparse_csr_tensor(
            pairs.right_pointer, pairs.left_by_right, weights[pairs.by_right], ctx.shape[::-1], check_invariants=False
        )
        return _dots(g, values, pairs), back @ g, None, None


def _dots(left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
    """For every link, the product of its two rows."""
    if len(pairs.left) <= len(left) * len(right):
        return pairs.scores(left, right)
    # tiny networks with parallel links: torch's sampled product has no more places than the dense one
    return (left[pairs.left.long()] * right[pairs.right.long()]).sum(dim=1)


def _sums(weights: Tensor, pairs: Pairs, rows: int) -> Tensor:
    """For every link, the sum of the weights of all links into its target."""
    sums = _matrix(weights, pairs, (rows, rows)) @ weights.new_ones(rows, 1)
    return sums.flatten()[pairs.left]


def _matrix(weights: Tensor, pairs: Pairs, shape: tuple[int, int]) -> Tensor:
    """Weights at the pairs: left rows, right columns."""
    return torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, weights, shape, check_invariants=False)


def dropping(share: float, generator: torch.Generator | None) -> Callable[[Tensor], Tensor]:
    """Dropout of this share, or nothing for 0."""
    return lambda attention: dropout(attention, share, generator) if share else attention
