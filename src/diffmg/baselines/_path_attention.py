"""Attention of HAN and MAGNN: over what a node gets along one meta path, and over meta paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.baselines._held import HeldPairs
from diffmg.baselines._links import weighted_sums
from diffmg.baselines._stacked import vectors
from diffmg.nn import Affine
from diffmg.pairs import Pairs

SLOPE = 0.2
"""Of the leaky ReLU in attention."""


class Edges(nn.Module):
    """Pairs (node, neighbour), sorted: softmax over each node's pairs, and weighted sums of its neighbours."""

    rows: Tensor
    columns: Tensor

    def __init__(self, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> None:
        """Pairs must be sorted by node, then by neighbour, and occur once."""
        super().__init__()
        self.count = shape[0]
        self.register_buffer("rows", torch.from_numpy(rows), persistent=False)
        self.register_buffer("columns", torch.from_numpy(columns), persistent=False)
        self.held = HeldPairs(Pairs.build(np.stack([rows, columns], axis=1), *shape)[0])

    def softmax(self, scores: Tensor) -> Tensor:
        """Of (pairs, heads), over the pairs of each node."""
        return softmax_by_row(scores, self.rows, self.count)

    def sums(self, weights: Tensor, x: Tensor) -> Tensor:
        """`Σ_j w_ij x_j` for each head: weights (pairs, heads), x (neighbours, heads, d); (nodes, heads, d)."""
        heads = zip(_by_head(weights), _by_head(x), strict=True)
        return torch.stack([weighted_sums(w, part, self.held.pairs, self.count) for w, part in heads], dim=1)


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
