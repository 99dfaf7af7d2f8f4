"""SeHGNN-style method: features are averaged along meta paths once, before training."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import METHODS, Count, DiffmgError, MetaPath, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix, to_torch
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._reach import mean_over_neighbours
from diffmg.nn import Affine
from diffmg.nn.dropout import dropout
from diffmg.nn.readout import Attention
from diffmg.tasks.problem import Problem

MOST_PATHS = 100
"""Paths up to which a race tries it."""


@METHODS.add("sehgnn")
@dataclass(frozen=True)
class SeHGNN(Baseline):
    """SeHGNN-style (Yang et al., 2023): means along every meta path of up to `hops` relations, fused by attention.

    Features are averaged along the paths once, when the model is built, relation by relation with row-normalised
    adjacencies (nodes without neighbours get 0); matrix products are never formed. Each path has its own projection,
    with LayerNorm if enabled in the settings; then single-head attention over the paths of a node, `h + β softmax(Q
    K^T) V`, and an MLP on the concatenated paths. Users and items have separate models.

    Not as in the paper: label propagation along paths, multi-stage training and residual inputs are left out; the
    projection is one linear map; β starts at 1, not 0, so that the attention learns from the first step. A type without
    features sends fixed random vectors (standard normal, `dim` columns); as a target it has learned embeddings.
    """

    hops: Count = 2

    timed = True
    summary = "features averaged along all short meta paths before training, then attention (SeHGNN style)"
    tunable: ClassVar = {"hops": (1, 2, 3, 4)}

    def check(self, problem: Problem, settings: Settings) -> None:
        """Where rows have a time, also require features: random vectors would be others for newer data."""
        super().check(problem, settings)
        bare = sorted(set(problem.graph.num_nodes) - set(problem.graph.features))
        if problem.graph.timed and bare:
            raise DiffmgError(f"`sehgnn` needs features of all types where rows have a time, but got none of {bare}")

    def tunable_on(self, problem: Problem) -> Mapping[str, tuple[Any, ...]]:
        """No more hops than paths allow: each path is a matrix of its own."""
        return {"hops": tuple(n for n in self.tunable["hops"] if n == 1 or _most_paths(problem, n) <= MOST_PATHS)}

    def is_cheap(self, problem: Problem) -> bool:
        """Whether it has few paths."""
        return self.hops in self.tunable_on(problem)["hops"]


def _most_paths(problem: Problem, hops: int) -> int:
    """Meta paths of 1 to `hops` relations into a target, the most of any."""
    schema, most = problem.graph.schema, 0
    for target in problem.task.target_types:
        ends, total = Counter({target: 1}), 0
        for _ in range(hops):
            before: Counter[str] = Counter()
            for node_type, count in ends.items():
                for relation in schema.into(node_type):
                    before[relation.source] += count
            ends, total = before, total + before.total()
        most = max(most, total)
    return most


@SeHGNN.builds
class _Network(nn.Module):
    def __init__(self, options: SeHGNN, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__()
        draw, fixed = seeded("cpu", seed, "parameters"), fixed_features(problem.graph, settings.dim, seed)
        self.towers = nn.ModuleList()
        for target in problem.task.target_types:
            inputs = averages(problem.graph, target, options.hops, fixed)
            self.towers.append(_Tower(problem, target, inputs, settings, draw))

    @property
    def head(self) -> nn.Module:
        """The last map of the first tower, which is the head of a task with one target type."""
        return self.towers[0].last  # type: ignore[return-value]

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """What the task scores: logits, or the representations of users and of items."""
        return tuple(tower(graph, generator) for tower in self.towers)


class _Tower(nn.Module):
    def __init__(
        self, problem: Problem, target: str, inputs: dict[MetaPath, Tensor], settings: Settings, draw: torch.Generator
    ) -> None:
        super().__init__()
        self.target, self.settings, self.paths = target, settings, ((), *inputs)
        for number, x in enumerate(inputs.values()):
            self.register_buffer(f"input_{number}", x, persistent=False)
        dim, sizes = settings.dim, (problem.graph.inputs(target), *(x.shape[1] for x in inputs.values()))
        self.projections = nn.ModuleList(Affine(size, dim, draw) for size in sizes)
        self.fusion = Attention(dim, draw) if inputs else nn.Identity()
        self.hidden = Affine(len(sizes) * dim, dim, draw)
        self.last = Affine(dim, problem.task.outputs or dim, draw)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None) -> Tensor:
        """Logits or representations of the target type, (n, outputs)."""
        inputs = [graph.features.get(self.target), *(self.get_buffer(f"input_{n}") for n in range(len(self.paths) - 1))]
        h = torch.stack([project(x) for project, x in zip(self.projections, inputs, strict=True)], dim=1)
        if self.settings.layer_norm:
            h = F.layer_norm(h, h.shape[-1:])
        h = self.fusion(self.drop(h, generator)).flatten(1)
        z: Tensor = self.last(self.drop(torch.relu(self.hidden(h)), generator))
        return z

    def drop(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Dropout during training."""
        return dropout(h, self.settings.dropout, generator) if self.training and self.settings.dropout > 0 else h


def fixed_features(graph: HeteroGraph, dim: int, seed: int) -> dict[str, Tensor]:
    """Features of every type as dense tensors; random vectors of `dim` columns for types without any."""
    found = {}
    for node_type, count in graph.num_nodes.items():
        x = graph.features.get(node_type)
        if x is None:
            x = torch.randn(count, dim, generator=seeded("cpu", seed, "features", node_type)).to(graph.device)
        found[node_type] = x.forward.to_dense() if isinstance(x, FixedMatrix) else x
    return found


@torch.no_grad()
def averages(graph: HeteroGraph, target: str, hops: int, features: Mapping[str, Tensor]) -> dict[MetaPath, Tensor]:
    """Mean source features by meta path of 1 to `hops` relations; a path starts with the relation into the target."""
    means = {r: to_torch(mean_over_neighbours(graph.adjacency[r])).to(graph.device) for r in graph.schema.relations}

    @cache
    def along(node_type: str, most: int) -> dict[MetaPath, Tensor]:
        found: dict[MetaPath, Tensor] = {(): features[node_type]}
        if most:
            for relation in graph.schema.into(node_type):
                before = along(relation.source, most - 1)
                found |= {(relation, *path): means[relation] @ x for path, x in before.items()}
        return found

    return {path: x for path, x in along(target, hops).items() if path}
