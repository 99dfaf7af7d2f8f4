"""Attention over links, computed as products of sparse matrices with learned entries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.methods.baselines._base import glorot
from diffmg.methods.baselines._buffers import PairsBuffer
from diffmg.tasks.pairs import Pairs


class Links(nn.Module):
    """Links (target, source), repeated for every head: head h has its own copy of every node.

    The heads are the diagonal blocks of one sparse matrix. Aggregation is a product with it, in the forward and the
    backward pass: deterministic, and without a message vector per link.
    """

    def __init__(self, links: NDArray[np.int64], nodes: int, heads: int) -> None:
        """Duplicate links are allowed; nodes without incoming links get zeros; `order` is their sort order."""
        super().__init__()
        self.heads, self.rows = heads, heads * nodes
        pairs, self.order = Pairs.build(links, nodes, nodes)
        self.held = PairsBuffer(_blocks(pairs, heads))

    @property
    def pairs(self) -> Pairs:
        """Left rows are targets, right rows are sources."""
        return self.held.pairs

    def of_ends(self, own: Tensor, other: Tensor) -> Tensor:
        """Per link, the target's value plus the source's: (heads, links) from two of (heads, nodes)."""
        sums: Tensor = _OfEnds.apply(own.flatten(), other.flatten(), self.pairs)  # type: ignore[no-untyped-call]
        return sums.view(self.heads, -1)

    def softmax(self, logits: Tensor) -> Tensor:
        """Softmax over the incoming links of each node, (heads, links)."""
        attention: Tensor = _Softmax.apply(logits.flatten(), self.pairs, self.rows)  # type: ignore[no-untyped-call]
        return attention.view_as(logits)

    def gather(self, attention: Tensor, x: Tensor) -> Tensor:
        """Attention-weighted sums over neighbours, from (heads, nodes, d) to (nodes, heads * d)."""
        z = weighted_sums(attention.flatten(), x.flatten(0, 1), self.pairs, self.rows)
        return z.view_as(x).transpose(0, 1).flatten(1)


class Attention(nn.Module):
    """One attention layer: W, and per head an attention vector for the node and one for its neighbour."""

    def __init__(self, dim: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.own = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))
        self.other = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))

    def forward(self, h: Tensor, links: Links, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """From (nodes, dim) to (nodes, dim); `drop` is applied to the attention."""
        x = self.heads_of(h)
        attention = links.softmax(F.leaky_relu(self.logits(x, links), 0.2))
        return links.gather(drop(attention), x) + self.bias

    def heads_of(self, h: Tensor) -> Tensor:
        """`h W`, (nodes, dim), as (heads, nodes, dim / heads)."""
        return (h @ self.weight).view(len(h), len(self.own), -1).transpose(0, 1).contiguous()

    def logits(self, x: Tensor, links: Links) -> Tensor:
        """Attention logits from both ends of every link, (heads, links)."""
        return links.of_ends((x @ self.own).squeeze(2), (x @ self.other).squeeze(2))


class _OfEnds(torch.autograd.Function):
    """Adds the values at both ends of every pair; the gradients are sums over the pairs of each row."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
        ctx.pairs, ctx.shape = pairs, (len(left), len(right))
        return left.index_select(0, pairs.left).add_(right.index_select(0, pairs.right))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        pairs, shape, g = ctx.pairs, ctx.shape, grad_outputs[0].contiguous()
        matrices = (_matrix(g, pairs, shape), _transposed(g, pairs, shape))
        by_left, by_right = ((m @ g.new_ones(m.shape[1], 1)).flatten() for m in matrices)
        return by_left, by_right, None


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, pairs: Pairs, rows: int) -> Tensor:
        top = logits.new_full((rows,), -torch.inf).scatter_reduce(0, pairs.left.long(), logits, "amax")
        weights = (logits - top.index_select(0, pairs.left)).exp_()
        attention = weights.div_(_sums(weights, pairs, rows))
        ctx.pairs, ctx.rows = pairs, rows
        ctx.save_for_backward(attention)
        return attention

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (attention,), g = ctx.saved_tensors, grad_outputs[0]
        return (g - _sums(attention * g, ctx.pairs, ctx.rows)).mul_(attention), None, None


def weighted_sums(weights: Tensor, values: Tensor, pairs: Pairs, rows: int) -> Tensor:
    """Per left row, the sum of `weight * value` over its pairs; values (right rows, d), result (rows, d)."""
    sums: Tensor = _WeightedSums.apply(weights, values, pairs, rows)  # type: ignore[no-untyped-call]
    return sums


class _WeightedSums(torch.autograd.Function):
    """Sparse product with learned entries; backward: a sampled dense product, and a product with the transpose."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, pairs: Pairs, rows: int) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.pairs, ctx.shape = pairs, (rows, len(values))
        return _matrix(weights, pairs, ctx.shape) @ values

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (weights, values), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        return _dots(g, values, pairs), _transposed(weights, pairs, ctx.shape) @ g, None, None


def _dots(left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
    """For every link, the dot product of its two rows."""
    if len(pairs.left) <= len(left) * len(right):
        return pairs.scores(left, right)
    # tiny networks with parallel links: torch's sampled product allows no more entries than the dense matrix has
    return (left[pairs.left.long()] * right[pairs.right.long()]).sum(dim=1)


def _sums(weights: Tensor, pairs: Pairs, rows: int) -> Tensor:
    """For every link, the total weight of all links into its target."""
    sums = _matrix(weights, pairs, (rows, rows)) @ weights.new_ones(rows, 1)
    return sums.flatten().index_select(0, pairs.left)


def _matrix(weights: Tensor, pairs: Pairs, shape: tuple[int, int]) -> Tensor:
    """The CSR matrix of the weights: left rows, right columns."""
    return torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, weights, shape, check_invariants=False)


def _transposed(weights: Tensor, pairs: Pairs, shape: tuple[int, int]) -> Tensor:
    """The transpose of `_matrix` with these arguments."""
    pointer, columns, values = pairs.right_pointer, pairs.left_by_right, weights.index_select(0, pairs.by_right)
    return torch.sparse_csr_tensor(pointer, columns, values, shape[::-1], check_invariants=False)


def _blocks(pairs: Pairs, count: int) -> Pairs:
    """`count` copies of the pairs as the diagonal blocks of one matrix; 32-bit indices."""
    links, lefts, rights = len(pairs.left), len(pairs.left_pointer) - 1, len(pairs.right_pointer) - 1

    def copies(table: Tensor, step: int) -> Tensor:
        return (table.int() + step * torch.arange(count, dtype=torch.int32)[:, None]).flatten()

    def pointer(table: Tensor) -> Tensor:
        return torch.cat([copies(table[:-1], links), table[-1:] * count])

    ends = copies(pairs.left, lefts), copies(pairs.right, rights)
    pointers = pointer(pairs.left_pointer), pointer(pairs.right_pointer)
    return Pairs(*ends, *pointers, copies(pairs.by_right, links), copies(pairs.left_by_right, lefts))
