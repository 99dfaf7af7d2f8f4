"""What baselines share: the contract, models that see all nodes numbered together, and how weights are drawn."""

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
from diffmg.nn.encoder import dropout
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search

Network = TypeVar("Network", bound=type[nn.Module])


class StackedModel(nn.Module, ABC):
    """Projects types to `dim`, encodes all their nodes at once, and hands the target types' rows to the head."""

    def __init__(self, problem: Problem, settings: Settings, seed: int, *, types: Sequence[str]) -> None:
        """`types`: the types it reads."""
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
        """Dropout while training, of the settings' share unless said."""
        share = self.settings.dropout if share is None else share
        return dropout(h, share, generator) if self.training and share > 0 else h

    def rows(self, z: Tensor, node_type: str) -> Tensor:
        """The rows of one type."""
        return z[self.starts[node_type] : self.starts[node_type] + self.counts[node_type]]


class Baseline(Method):
    """A rival: frozen options and a network of its own; it searches for nothing."""

    family = "baseline"
    network_class: ClassVar[type[nn.Module]] = StackedModel

    @classmethod
    def builds(cls, network: Network) -> Network:
        """Decorator of the class that `model` makes from the options, the problem, the settings and the seed."""
        cls.network_class = network
        return network

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also the heads, where it has any, must share out the columns."""
        super().check(problem, settings)
        heads = getattr(self, "heads", 1)
        if settings.dim % heads:
            raise DiffmgError(
                f"`dim` must be a multiple of `heads`, but got dim={settings.dim} and heads={heads}; change one of them"
            )

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh network for a problem and settings that were checked; its parameters follow from the seed alone.

        A method either has a class that it `builds` or says here what to make.
        """
        return self.network_class(self, problem, settings, seed)

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """Nothing to look for."""
        return Immediate(())

    def network(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        metagraphs: Sequence[MetaGraph] = (),  # noqa: ARG002
    ) -> nn.Module:
        """A fresh network on the problem's device, once the method is known to be able to do the task."""
        self.check(problem, settings)
        return self.model(problem, settings, seed).to(problem.graph.device)


def starts_of(graph: HeteroGraph, types: Sequence[str] | None = None) -> dict[str, int]:
    """Where each type starts when the nodes of these types (all, in the order of the schema) are numbered together."""
    types = types or graph.schema.node_types
    return dict(zip(types, [0, *accumulate(graph.num_nodes[t] for t in types)], strict=False))


def glorot(*shape: int, generator: torch.Generator) -> Tensor:
    """Uniform in ±sqrt(6 / (inputs + outputs)), which are the last two of the shape."""
    bound = (6 / (shape[-2] + shape[-1])) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def vectors(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Vectors of the last dimension's length, uniform in ±1/sqrt(length)."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def spread(rows: int, dim: int, generator: torch.Generator) -> nn.Parameter:
    """Vectors of users or items, (rows, dim), normal with a standard deviation of 0.1, as LightGCN's program has it."""
    return nn.Parameter(torch.empty(rows, dim).normal_(0, 0.1, generator=generator))
