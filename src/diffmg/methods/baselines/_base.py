"""Shared by all baselines: the interface, models over the nodes of all types stacked, and weight initialisation."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, TypeVar

import torch
from torch import Tensor, nn

from diffmg.core import DiffmgError, MetaGraph, Method, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.nn import Affine
from diffmg.nn.dropout import dropout
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search

Network = TypeVar("Network", bound=type[nn.Module])


class StackedModel(nn.Module, ABC):
    """Projects each type to `dim`, encodes all nodes at once, and applies the head to the rows of the target types."""

    def __init__(self, problem: Problem, settings: Settings, seed: int, *, types: Sequence[str]) -> None:
        """`types`: the node types that the model reads."""
        super().__init__()
        graph, task = problem.graph, problem.task
        self.settings, self.targets, self.types = settings, task.target_types, tuple(types)
        self.starts, self.counts = starts_of(graph, self.types), dict(graph.num_nodes)
        draw = seeded("cpu", seed, "parameters")
        self.projections = nn.ModuleList(Affine(graph.inputs(t), settings.dim, draw) for t in self.types)
        self.head = Affine(settings.dim, task.outputs, draw) if task.outputs else nn.Identity()

    @abstractmethod
    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of all nodes from projected features, both (nodes, dim)."""

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """What the task scores: logits, or the representations of users and of items."""
        z = self.encode(self.drop(self.project(graph), generator), generator)
        return tuple(self.head(self.rows(z, t)) for t in self.targets)

    def project(self, graph: HeteroGraph) -> Tensor:
        """Features of all nodes as (nodes, dim)."""
        return torch.cat([p(graph.features.get(t)) for p, t in zip(self.projections, self.types, strict=True)])

    def drop(self, h: Tensor, generator: torch.Generator | None, share: float | None = None) -> Tensor:
        """Dropout during training; `share` defaults to that of the settings."""
        share = self.settings.dropout if share is None else share
        return dropout(h, share, generator) if self.training and share > 0 else h

    def rows(self, z: Tensor, node_type: str) -> Tensor:
        """The rows of one type."""
        return z[self.starts[node_type] : self.starts[node_type] + self.counts[node_type]]


class Baseline(Method):
    """A baseline: frozen options and its own network, without an architecture search."""

    family = "baseline"
    network_class: ClassVar[type[nn.Module]] = StackedModel

    @classmethod
    def builds(cls, network: Network) -> Network:
        """Class decorator: sets the network that `model` builds from the options, problem, settings and seed."""
        cls.network_class = network
        return network

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require `dim` to be divisible by the number of heads, where there are any."""
        super().check(problem, settings)
        heads = getattr(self, "heads", 1)
        if settings.dim % heads:
            raise DiffmgError(
                f"`dim` must be a multiple of `heads`, but got dim={settings.dim} and heads={heads}; change one of them"
            )

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A new network for a checked problem and settings; its parameters depend only on the seed.

        A method either registers a class with `builds` or overrides this.
        """
        return self.network_class(self, problem, settings, seed)

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """No search: finishes at once."""
        return Immediate(())

    def network(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        metagraphs: Sequence[MetaGraph] = (),  # noqa: ARG002
    ) -> nn.Module:
        """Check that the method supports the task, then build a new network on the problem's device."""
        self.check(problem, settings)
        return self.model(problem, settings, seed).to(problem.graph.device)


def starts_of(graph: HeteroGraph, types: Sequence[str] | None = None) -> dict[str, int]:
    """Row offset of each type when the nodes of these types (default: all, in schema order) are stacked."""
    types = types or graph.schema.node_types
    return dict(zip(types, [0, *accumulate(graph.num_nodes[t] for t in types)], strict=False))


def glorot(*shape: int, generator: torch.Generator) -> Tensor:
    """Glorot uniform: ±sqrt(6 / (fan_in + fan_out)), the last two dimensions of the shape."""
    bound = (6 / (shape[-2] + shape[-1])) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def vectors(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Vectors of the last dimension's length, uniform in ±1/sqrt(length)."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def spread(rows: int, dim: int, generator: torch.Generator) -> nn.Parameter:
    """Embeddings of users or items, (rows, dim), from N(0, 0.1²) as in LightGCN's code."""
    return nn.Parameter(torch.empty(rows, dim).normal_(0, 0.1, generator=generator))
