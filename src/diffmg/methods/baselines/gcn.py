"""Graph convolution on the homogeneous network, node types ignored (Kipf and Welling, ICLR 2017, arXiv 1609.02907)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.sparse import FixedMatrix, symmetric_normalised
from diffmg.methods.baselines._base import Baseline, StackedModel, glorot
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._reach import rows_of_types, types_within, union
from diffmg.tasks.problem import Problem


@METHODS.add("gcn")
@dataclass(frozen=True)
class GCN(Baseline):
    """Projection per type, then `layers` times `D^-1/2 (A + I) D^-1/2 H W + b`, with ReLU and dropout between them.

    A is 1 where any relation links two different nodes, in either direction; edge weights are ignored. Not as in the
    original: weight decay applies to all layers, not only the first, and features times A are not cached.
    """

    layers: Count = 4

    summary = "graph convolution, types forgotten (Kipf and Welling 2017)"
    tunable: ClassVar = {"layers": (2, 3, 4)}
    default_settings: ClassVar = {"weight_decay": 1e-5}


@GCN.builds
class _Network(StackedModel):
    def __init__(self, options: GCN, problem: Problem, settings: Settings, seed: int) -> None:
        graph = problem.graph
        types = types_within(graph.schema, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=types)
        self.propagation = SparseBuffer(rows_of_types(symmetric_normalised(union(graph)), graph, types))
        draw = seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList(Convolution(settings.dim, draw) for _ in range(options.layers))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """All nodes at once."""
        matrix = self.propagation.fixed
        h = self.layers[0](h, matrix)
        for layer in self.layers[1:]:
            h = layer(self.drop(torch.relu(h), generator), matrix)
        return h


class Convolution(nn.Module):
    """`M (h W) + b`; Glorot initialisation (2010) of W, zeros for b."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, h: Tensor, matrix: FixedMatrix) -> Tensor:
        """From (nodes, dim) to (nodes, dim)."""
        return matrix @ (h @ self.weight) + self.bias
