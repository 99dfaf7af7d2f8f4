"""Attention of HAN and MAGNN: over the instances of a meta path, then over the meta paths."""

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
"""Negative slope of LeakyReLU in the attention along a path."""


class Receivers(nn.Module):
    """Maps each instance to its target node: broadcasts to the instances, and softmax means over them.

    Both directions are sparse products, so that no gradient needs a scatter-add and all are deterministic.
    """

    alone: Tensor

    def __init__(self, rows: Ints, count: int) -> None:
        """`rows`: the target node of each instance; `count`: number of nodes."""
        super().__init__()
        self.instances = SparseBuffer(marks(rows[:, None], count).T.tocsr())
        alone = np.bincount(rows, minlength=count)[:, None] == 0
        self.register_buffer("alone", torch.from_numpy(alone.astype(np.float32)), persistent=False)

    def broadcast(self, x: Tensor) -> Tensor:
        """The row of its node for each instance, (instances, columns), from (nodes, columns)."""
        return self.instances.fixed.T @ x

    def sums(self, x: Tensor) -> Tensor:
        """Sums over the instances of each node, (nodes, columns), from (instances, columns)."""
        return self.instances.fixed @ x

    def means(self, scores: Tensor, states: Tensor, h: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """Softmax-weighted mean of each node's instances; nodes without instances keep their row of `h`.

        Scores (instances, heads), states (instances, heads, d), h and the result (nodes, heads * d).
        """
        powers = (scores - self.broadcast(self._max_scores(scores.detach()))).exp()
        sums = self.sums((drop(powers).unsqueeze(-1) * states).flatten(1)) + self.alone * h
        totals = self.sums(powers) + self.alone
        return (sums.view(*totals.shape, -1) / totals.unsqueeze(-1)).flatten(1)

    def _max_scores(self, scores: Tensor) -> Tensor:
        """The largest score among each node's instances, (nodes, heads), for a stable softmax."""
        lowest = scores.new_full((len(self.alone), scores.shape[1]), -torch.inf)
        node = self.instances.get_buffer("backward_columns").long()
        return lowest.scatter_reduce(0, node.unsqueeze(1).expand_as(scores), scores, "amax")


def marks(columns: Ints, count: int) -> sp.csr_matrix:
    """A sparse indicator matrix of `count` columns: row i has ones in `columns[i]`."""
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
    """For one target type, attention along each of its meta paths, then over the paths if there are several."""

    def __init__(
        self, along: Sequence[nn.Module], dim: int, width: int, draw: torch.Generator, own_map: bool = False
    ) -> None:
        """`width`: hidden size of the attention over paths; `own_map`: whether to add an output projection."""
        super().__init__()
        self.along = nn.ModuleList(along)
        self.across = SemanticAttention(dim, width, draw) if len(along) > 1 else None
        self.output = Affine(dim, dim, draw) if own_map else nn.Identity()

    def forward(self, *inputs: Any) -> Tensor:
        """Representations, (nodes, dim); `inputs` are passed to the attention along each path."""
        states = [attention(*inputs) for attention in self.along]
        z: Tensor = self.output(states[0] if self.across is None else self.across(states))
        return z
