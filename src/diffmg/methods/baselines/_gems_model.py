"""The network of GEMS: a graph convolution for each meta structure, and attention over their results."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.core import Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import glorot
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.nn import Affine
from diffmg.nn.dropout import dropout
from diffmg.tasks.problem import Problem


class View(nn.Module):
    """Users and items along one meta structure: `tanh(W x + V mean of the matched)`, then a layer for each side."""

    def __init__(self, matched: sp.csr_matrix, dim: int, generator: torch.Generator) -> None:
        """`matched`: ones (users, items)."""
        super().__init__()
        self.items_of_user, self.users_of_item = SparseBuffer(_mean(matched)), SparseBuffer(_mean(matched.T.tocsr()))
        self.own = Affine(dim, dim, generator)
        self.other = nn.Parameter(glorot(dim, dim, generator=generator))
        self.sides = nn.ModuleList(Affine(dim, dim, generator) for _ in range(2))

    def forward(self, user: Tensor, item: Tensor, drop: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """From features to representations of users and of items, `dim` columns each."""
        means = self.items_of_user.fixed @ item, self.users_of_item.fixed @ user
        hidden = [drop(torch.tanh(self.own(x) + m @ self.other)) for x, m in zip((user, item), means, strict=True)]
        return [torch.tanh(side(h)) for side, h in zip(self.sides, hidden, strict=True)]


class GemsNetwork(nn.Module):
    """Several views of users and items; each node weighs its own views."""

    def __init__(self, matched: Sequence[sp.csr_matrix], problem: Problem, settings: Settings, seed: int) -> None:
        """`matched`: for each meta structure, ones (users, items)."""
        super().__init__()
        graph, draw, dim = problem.graph, seeded("cpu", seed, "parameters"), settings.dim
        self.types, self.share = problem.task.target_types, settings.dropout
        self.projections = nn.ModuleList(Affine(graph.inputs(t), dim, draw) for t in self.types)
        self.views = nn.ModuleList(View(m, dim, draw) for m in matched)
        self.queries = nn.ModuleList(Affine(len(matched) * dim, dim, draw) for _ in self.types)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Representations of users and of items, `dim` columns each."""

        def drop(h: Tensor) -> Tensor:
            return dropout(h, self.share, generator) if self.training and self.share > 0 else h

        x = [p(graph.features.get(t)) for p, t in zip(self.projections, self.types, strict=True)]
        views = [view(*x, drop) for view in self.views]
        sides = [torch.stack(side, dim=1) for side in zip(*views, strict=True)]
        return tuple(attended(z, q) for z, q in zip(sides, self.queries, strict=True))


def attended(views: Tensor, query: nn.Module) -> Tensor:
    """The views (n, views, dim) of each node, weighted by a softmax of their products with its query."""
    wanted = torch.tanh(query(views.flatten(1))).unsqueeze(2)
    attention = (views @ wanted).softmax(dim=1)
    return (attention * views).sum(dim=1)


def _mean(matched: sp.csr_matrix) -> sp.csr_matrix:
    """Rows divided by their sums; empty rows stay empty."""
    return sp.csr_matrix(sp.diags(1 / np.maximum(np.asarray(matched.sum(axis=1)).ravel(), 1)) @ matched)
