"""Attention of HAN and MAGNN: over the instances of one meta path, and over meta paths."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.methods.baselines._base import vectors
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._path_walks import Ints
from diffmg.nn import Affine

SLOPE = 0.2
"""Of the leaky ReLU in the attention along one path."""


class Receivers(nn.Module):
    """Which node each instance belongs to: what it hands to its instances, and softmax means over them.

    Sparse products do both ways, so no gradient is a scattered sum, and all are the same in every run.
    """

    alone: Tensor

    def __init__(self, rows: Ints, count: int) -> None:
        """`rows`: the node of each instance, below `count`."""
        super().__init__()
        self.instances = SparseBuffer(marks(rows[:, None], count).T.tocsr())
        alone = np.bincount(rows, minlength=count)[:, None] == 0
        self.register_buffer("alone", torch.from_numpy(alone.astype(np.float32)), persistent=False)

    def hand(self, x: Tensor) -> Tensor:
        """To each instance the row of its node, (instances, columns), from (nodes, columns)."""
        return self.instances.fixed.T @ x

    def sums(self, x: Tensor) -> Tensor:
        """Over the instances of each node, (nodes, columns), from (instances, columns)."""
        return self.instances.fixed @ x

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
        node = self.instances.get_buffer("backward_columns").long()
        return lowest.scatter_reduce(0, node.unsqueeze(1).expand_as(scores), scores, "amax")


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


class Tower(nn.Module):
    """For one target type, attention along each of its meta paths, then over the paths where there are several."""

    def __init__(
        self, along: Sequence[nn.Module], dim: int, width: int, draw: torch.Generator, own_map: bool = False
    ) -> None:
        """`width`: of the attention over paths; `own_map`: whether a linear map follows."""
        super().__init__()
        self.along = nn.ModuleList(along)
        self.across = SemanticAttention(dim, width, draw) if len(along) > 1 else None
        self.output = Affine(dim, dim, draw) if own_map else nn.Identity()

    def forward(self, *inputs: Any) -> Tensor:
        """Representations, (nodes, dim), from what the attention along a path takes."""
        states = [attention(*inputs) for attention in self.along]
        z: Tensor = self.output(states[0] if self.across is None else self.across(states))
        return z
