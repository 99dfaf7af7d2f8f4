"""Attention of HAN and MAGNN: over the instances of one meta path, and over meta paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.graph.sparse import FixedMatrix
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._path_walks import Ints
from diffmg.methods.baselines._stacked import vectors
from diffmg.nn import Affine

SLOPE = 0.2
"""Of the leaky ReLU in the attention along one path."""


class Receivers(nn.Module):
    """Which node each instance belongs to: what it hands to its instances, and softmax means over them."""

    alone: Tensor

    def __init__(self, rows: Ints, count: int) -> None:
        """`rows`: the node of each instance, below `count`."""
        super().__init__()
        self.instances = SparseBuffer(marks(rows[:, None], count).T.tocsr())
        alone = np.bincount(rows, minlength=count)[:, None] == 0
        self.register_buffer("alone", torch.from_numpy(alone.astype(np.float32)), persistent=False)

    def hand(self, x: Tensor) -> Tensor:
        """To each instance the row of its node, (instances, columns), from (nodes, columns)."""
        handed: Tensor = _Hand.apply(x, self.instances.fixed)  # type: ignore[no-untyped-call]
        return handed

    def sums(self, x: Tensor) -> Tensor:
        """Over the instances of each node, (nodes, columns), from (instances, columns)."""
        sums: Tensor = _Sums.apply(x, self.instances.fixed)  # type: ignore[no-untyped-call]
        return sums

    def means(self, scores: Tensor, states: Tensor, h: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """Means of a node's instances weighted by softmax of their scores; where it has none, what it has in `h`.

        Scores (instances, heads), states (instances, heads, d), h and what comes out (nodes, heads * d).
        """
        powers = (scores - self.hand(self._highest(scores.detach()))).exp()
        sums = self.sums((drop(powers).unsqueeze(-1) * states).flatten(1)) + self.alone * h
        totals = self.sums(powers) + self.alone
        return (sums.view(*totals.shape, -1) / totals.unsqueeze(-1)).flatten(1)

    def _highest(self, scores: Tensor) -> Tensor:
        """Of the scores of each node's instances, (nodes, heads)."""
        lowest = scores.new_full((len(self.alone), scores.shape[1]), -torch.inf)
        place = _rows(self.instances.fixed).long().unsqueeze(1).expand_as(scores)
        return lowest.scatter_reduce(0, place, scores, "amax")


class _Hand(torch.autograd.Function):
    """Rows looked up; the gradient is a sparse product: no scattered sums, so it is fast, and the same in every run."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, instances: FixedMatrix) -> Tensor:
        ctx.instances = instances
        return x.index_select(0, _rows(instances))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        return ctx.instances.forward @ grad_outputs[0], None


class _Sums(torch.autograd.Function):
    """The other way round."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, instances: FixedMatrix) -> Tensor:
        ctx.instances = instances
        return instances.forward @ x

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        return grad_outputs[0].index_select(0, _rows(ctx.instances)), None


def _rows(instances: FixedMatrix) -> Tensor:
    """The node of each instance, its only entry."""
    return instances.backward.col_indices()


def marks(columns: Ints, count: int) -> sp.csr_matrix:
    """A matrix of so many columns with ones in these of each row."""
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return sp.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), starts), (len(columns), count))


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
