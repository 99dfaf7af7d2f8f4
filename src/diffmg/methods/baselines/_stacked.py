"""Models that see all nodes numbered together: projection per type, one representation a node, the task's head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from diffmg.core import Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.nn import Affine
from diffmg.nn.encoder import dropout
from diffmg.tasks.problem import Problem


class StackedModel(nn.Module, ABC):
    """Projects types to `dim`, encodes all their nodes at once, and hands the target types' rows to the head."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        *,
        width: int | None = None,
        types: Sequence[str] | None = None,
    ) -> None:
        """`width`: columns of the encoded rows, `dim` unless said; `types`: the types it reads, all unless said."""
        super().__init__()
        graph, task = problem.graph, problem.task
        self.settings, self.targets = settings, task.target_types
        self.types = tuple(types or graph.schema.node_types)
        self.starts = starts_of(graph, self.types)
        self.counts = dict(graph.num_nodes)
        draw = seeded("cpu", seed, "parameters")
        self.projections = nn.ModuleList(Affine(graph.inputs(t), settings.dim, draw) for t in self.types)
        self.head = Affine(width or settings.dim, task.outputs, draw) if task.outputs else nn.Identity()

    @abstractmethod
    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of all nodes, (nodes, width), from projected features, (nodes, dim)."""

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """What the task scores: logits, or the representations of users and of items."""
        z = self.encode(self.drop(self.project(graph), generator), generator)
        return tuple(self.head(self.rows(z, t)) for t in self.targets)

    def project(self, graph: HeteroGraph) -> Tensor:
        """Features of all nodes as (nodes, dim)."""
        return torch.cat([p(graph.features.get(t)) for p, t in zip(self.projections, self.types, strict=True)])

    def drop(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Dropout while training."""
        return dropout(h, self.settings.dropout, generator) if self.training and self.settings.dropout > 0 else h

    def rows(self, z: Tensor, node_type: str) -> Tensor:
        """The rows of one type."""
        return z[self.starts[node_type] : self.starts[node_type] + self.counts[node_type]]


def starts_of(graph: HeteroGraph, types: Sequence[str] | None = None) -> dict[str, int]:
    """Where each type starts when the nodes of these types (all, in the order of the schema) are numbered together."""
    types = types or graph.schema.node_types
    ends = accumulate(graph.num_nodes[t] for t in types)
    return dict(zip(types, [0, *ends], strict=False))


def glorot(*shape: int, generator: torch.Generator) -> Tensor:
    """Uniform in ±sqrt(6 / (inputs + outputs)), which are the last two of the shape."""
    bound = (6 / (shape[-2] + shape[-1])) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def vectors(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Vectors of the last dimension's length, uniform in ±1/sqrt(length)."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
