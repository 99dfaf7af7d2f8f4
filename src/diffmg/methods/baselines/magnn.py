"""MAGNN: encodes whole instances of meta paths, then attends to them.

X. Fu, J. Zhang, Z. Meng, I. King: MAGNN: Metapath Aggregated Graph Neural Network for Heterogeneous Graph Embedding,
WWW 2020, with its relational rotation encoder (after RotatE, Sun et al. 2019): an instance t_0 ... t_n, where t_n
receives, is `o_n / (n + 1)` with `o_0 = h_0` and `o_i = h_i + o_(i-1) * r_i`, entries taken in pairs as complex numbers
and r_i of modulus one; the reverse of a relation has the conjugate. Then attention over a node's instances, ELU,
attention over meta paths, and the output map (the task's head, or one map per tower for recommendation). Dropout acts
on the projected features and on the attention weights.

Not as in the paper: one layer; heads have `dim / heads` columns each instead of `dim`; at most `sampled` instances per
node and path, sampled once; a node without instances of a path keeps its own projected state there. Left out: the mean
and linear encoders, mini-batches.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import METHODS, Count, DiffmgError, MetaPath, Relation, Settings, derive_seed
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import StackedModel, vectors
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._path_attention import SLOPE, Receivers, Tower, marks
from diffmg.methods.baselines._path_walks import Ints, instances
from diffmg.methods.baselines._paths import AlongPaths, reverses_of
from diffmg.tasks.problem import Problem

Turn = tuple[int, int]
"""Row of `phases` that a relation rotates by, and the sign."""


@METHODS.add("magnn")
@dataclass(frozen=True)
class MAGNN(AlongPaths):
    """Attention over encoded instances of meta paths (Fu et al. 2020)."""

    heads: Count = 8
    attention_dim: Count = 128
    """Width of the attention over meta paths."""
    sampled: Count = 32
    """Maximum number of instances per node and path."""

    summary = "attention over rotated instances of meta paths, then over the paths"
    tunable: ClassVar = {"heads": (1, 2, 4, 8)}

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require an even `dim`."""
        super().check(problem, settings)
        if settings.dim % 2:
            raise DiffmgError(f"`dim` must be even, since states are complex numbers, but got dim={settings.dim}")


@MAGNN.builds
class _Network(StackedModel):
    def __init__(self, options: MAGNN, problem: Problem, settings: Settings, seed: int) -> None:
        graph, targets, paths = problem.graph, problem.task.target_types, options.by_target(problem)
        relations = {r for own in paths.values() for path in own for r in path}
        others = {end for r in relations for end in (r.source, r.target)} - set(targets)
        super().__init__(problem, settings, seed, types=[*targets, *sorted(others)])
        draw, rng = seeded("cpu", seed, "layers"), np.random.default_rng(derive_seed(seed, "instances"))
        turns = turns_of(graph, relations)
        kinds = 1 + max(row for row, _ in turns.values())
        self.phases = nn.Parameter(torch.empty(kinds, settings.dim // 2).uniform_(-np.pi, np.pi, generator=draw))
        self.towers = nn.ModuleList()
        for target in targets:
            along = []
            for path in paths[target]:
                rotation = Rotation(path, instances(graph, path, options.sampled, rng), graph.num_nodes, turns)
                along.append(InstanceAttention(rotation, settings.dim, options.heads, draw))
            own_map = problem.task.outputs == 0
            self.towers.append(Tower(along, settings.dim, options.attention_dim, draw, own_map))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of the target types, which come first."""
        by_type, drop = {t: self.rows(h, t) for t in self.types}, partial(self.drop, generator=generator)
        return torch.cat([tower(by_type, self.phases, drop) for tower in self.towers])


class Rotation(nn.Module):
    """Encodes the instances of one meta path: each node rotated by the relations after it, then the mean."""

    shares: Tensor

    def __init__(self, path: MetaPath, nodes: Ints, counts: Mapping[str, int], turns: Mapping[Relation, Turn]) -> None:
        """`nodes`: one instance per row, in message order; `counts`: number of nodes of each type."""
        super().__init__()
        self.types = (path[0].source, *(r.target for r in path))
        shares = np.zeros((len(self.types), 1 + max(turns[r][0] for r in path)), np.float32)
        for place, relation in enumerate(path):
            row, sign = turns[relation]
            shares[: place + 1, row] += sign
        self.register_buffer("shares", torch.from_numpy(shares), persistent=False)
        sizes = [counts[t] for t in self.types]
        self.places = SparseBuffer(marks(nodes + np.cumsum([0, *sizes[:-1]]), sum(sizes)))
        self.receivers = Receivers(nodes[:, -1], sizes[-1])

    def forward(self, by_type: Mapping[str, Tensor], phases: Tensor) -> Tensor:
        """Rotated nodes of all positions, stacked, (nodes, dim); an instance is the sum of its nodes' rows."""
        angles = self.shares @ phases[: self.shares.shape[1]]
        rotated = [rotate(by_type[t], angle) for t, angle in zip(self.types, angles, strict=True)]
        return torch.cat(rotated) / len(rotated)


class InstanceAttention(nn.Module):
    """Attention over the instances of one meta path."""

    def __init__(self, encoder: Rotation, dim: int, heads: int, draw: torch.Generator) -> None:
        super().__init__()
        self.encoder = encoder
        self.own, self.other = (vectors((heads, dim // heads), draw) for _ in range(2))

    def forward(self, by_type: Mapping[str, Tensor], phases: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """The states of the target type, (nodes, dim), for this path."""
        h, receivers = by_type[self.encoder.types[-1]], self.encoder.receivers
        rotated, places, shape = self.encoder(by_type, phases), self.encoder.places.fixed, self.own.shape
        own, other = ((x.view(-1, *shape) * v).sum(dim=-1) for x, v in ((h, self.own), (rotated, self.other)))
        scores = F.leaky_relu(receivers.broadcast(own) + places @ other, SLOPE)
        return F.elu(receivers.means(scores, (places @ rotated).view(-1, *shape), h, drop))


def turns_of(graph: HeteroGraph, relations: Collection[Relation]) -> dict[Relation, Turn]:
    """Phase row and sign of each relation; a relation and its reverse share a row with opposite signs."""
    reverses = reverses_of(graph)
    turns: dict[Relation, Turn] = {}
    rows = count()
    for relation in (r for r in graph.schema.relations if r in relations):
        row, sign = turns.get(reverses.get(relation, relation)) or (next(rows), -1)
        turns[relation] = (row, -sign)
    return turns


def rotate(h: Tensor, angles: Tensor) -> Tensor:
    """Rotate (n, d), entries 2k and 2k + 1 being a complex number, by one angle per pair, (d / 2,)."""
    real, imaginary = h.view(len(h), -1, 2).unbind(dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([real * cos - imaginary * sin, real * sin + imaginary * cos], dim=-1).flatten(1)
