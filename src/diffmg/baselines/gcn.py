"""Graph convolution on the network with its types forgotten (Kipf and Welling, ICLR 2017, arXiv 1609.02907)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.baselines._base import BASELINES, Baseline
from diffmg.baselines._stacked import StackedModel, starts_of
from diffmg.graph import HeteroGraph
from diffmg.options import check_rules, check_types
from diffmg.randomness import generator as seeded
from diffmg.sparse import FixedMatrix, symmetric_normalised
from diffmg.train import Problem, TrainSettings


@BASELINES.add("gcn")
@dataclass(frozen=True)
class GCN(Baseline):
    """Projection per type, then `layers` times `D^-1/2 (A + I) D^-1/2 H W + b`, with ReLU and dropout between them.

    A is 1 where any relation links two different nodes, in either direction: relations, directions and weights are
    forgotten. A fixed sparse product does it; there is nothing a PyG layer would add. Left out: the penalty on the
    first layer's weights alone (the optimiser's weight decay is on all) and the cache of features times A.
    """

    layers: int = 4

    summary = "graph convolution, types forgotten (Kipf and Welling 2017)"
    tunable: ClassVar = {"layers": (2, 3, 4)}

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"layers >= 1": self.layers >= 1})

    def build(self, problem: Problem, settings: TrainSettings, seed: int) -> nn.Module:
        """A fresh model."""
        self.check(problem)
        return _Network(self, problem, settings, seed).to(problem.graph.device)


class _Network(StackedModel):
    def __init__(self, options: GCN, problem: Problem, settings: TrainSettings, seed: int) -> None:
        graph = problem.graph
        types = types_within(graph, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=types)
        self.propagation = HeldMatrix(rows_of_types(symmetric_normalised(union(graph)), graph, types))
        draw = seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList(Convolution(settings.dim, draw) for _ in range(options.layers))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """All nodes at once."""
        for number, layer in enumerate(self.layers):
            if number > 0:
                h = self.drop(torch.relu(h), generator)
            h = layer(h, self.propagation.fixed)
        return h


class Convolution(nn.Module):
    """`M (h W) + b`; W is drawn as Glorot and Bengio (2010) say, b starts at zero."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, h: Tensor, matrix: FixedMatrix) -> Tensor:
        """From (nodes, dim) to (nodes, dim)."""
        return matrix @ (h @ self.weight) + self.bias


class HeldMatrix(nn.Module):
    """A fixed matrix that moves with its model, is copied with it, and is no part of its state."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        super().__init__()
        self.shape = matrix.shape
        made = FixedMatrix.from_scipy(matrix)
        for way, m in (("forward", made.forward), ("backward", made.backward)):
            for name, part in (("rows", m.crow_indices()), ("columns", m.col_indices()), ("values", m.values())):
                self.register_buffer(f"{way}_{name}", part, persistent=False)

    @property
    def fixed(self) -> FixedMatrix:
        """The matrix where the model is."""
        return FixedMatrix(self._csr("forward", self.shape), self._csr("backward", self.shape[::-1]))

    def _csr(self, way: str, shape: tuple[int, int]) -> Tensor:
        rows, columns, values = (self.get_buffer(f"{way}_{name}") for name in ("rows", "columns", "values"))
        return torch.sparse_csr_tensor(rows, columns, values, shape, check_invariants=False)


def glorot(*shape: int, generator: torch.Generator) -> Tensor:
    """Uniform in ±sqrt(6 / (inputs + outputs)), which are the last two of the shape."""
    bound = (6 / (shape[-2] + shape[-1])) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def types_within(graph: HeteroGraph, targets: Sequence[str], hops: int) -> tuple[str, ...]:
    """The types that relations, taken in either direction, link to a target type within so many hops."""
    near = set(targets)
    ends = [{r.source, r.target} for r in graph.schema.relations]
    for _ in range(hops):
        near |= set().union(*(pair for pair in ends if pair & near))
    return tuple(t for t in graph.schema.node_types if t in near)


def union(graph: HeteroGraph) -> sp.csr_matrix:
    """1 where any relation links two different nodes in either direction; nodes numbered together, (N, N)."""
    count = sum(graph.num_nodes.values())
    starts = starts_of(graph)
    shifts = {r: np.array([[starts[r.source]], [starts[r.target]]]) for r in graph.schema.relations}
    edges = np.concatenate([graph.edge_index(r) + shift for r, shift in shifts.items()], axis=1)
    sources, targets = edges[:, edges[0] != edges[1]]
    matrix = sp.csr_matrix((np.ones(len(sources)), (targets, sources)), shape=(count, count))
    either = sp.csr_matrix(matrix + matrix.T)
    either.data[:] = 1.0
    return either


def rows_of_types(matrix: sp.csr_matrix, graph: HeteroGraph, types: Sequence[str]) -> sp.csr_matrix:
    """Rows and columns of these types out of a matrix of all nodes."""
    starts = starts_of(graph)
    rows = np.concatenate([np.arange(starts[t], starts[t] + graph.num_nodes[t]) for t in types])
    return sp.csr_matrix(matrix[rows][:, rows])
