"""HGT: attention whose maps depend on the types of both ends and on the relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.baselines._base import BASELINES, Baseline, check_heads
from diffmg.baselines._held import HeldPairs
from diffmg.baselines._links import weighted_sums
from diffmg.baselines._reach import reaching
from diffmg.baselines._stacked import StackedModel, glorot
from diffmg.graph import HeteroGraph
from diffmg.nn import Affine
from diffmg.options import check_rules, check_types
from diffmg.pairs import Pairs
from diffmg.randomness import generator as seeded
from diffmg.schema import Relation
from diffmg.train import Problem, TrainSettings

States = Mapping[str, Tensor]
"""A state (n, dim) per node type."""


@BASELINES.add("hgt")
@dataclass(frozen=True)
class HGT(Baseline):
    """Hu et al., 2020: the heterogeneous graph transformer, full batch.

    Per type maps to keys, queries and values; per relation and head a matrix for attention, one for messages and a
    prior; softmax over all edges into a node, whatever their relation; then GELU, a map per type, dropout, and a gated
    residual (the gate is the authors' program's; the paper adds without one). A type that nothing reaches keeps its
    state. Only what can reach the target types is built, layer by layer. Left out: relative temporal encoding (the
    networks have no times), sampling of subgraphs, and weights of edges, which the method has no place for.
    """

    layers: int = 2
    heads: int = 8

    summary = "transformer with maps per type and relation (Hu et al. 2020)"
    tunable: ClassVar = {"layers": (1, 2, 3)}

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"layers >= 1": self.layers >= 1, "heads >= 1": self.heads >= 1})

    def build(self, problem: Problem, settings: TrainSettings, seed: int) -> nn.Module:
        """A fresh model."""
        self.check(problem)
        check_heads(settings.dim, self.heads)
        return _Network(self, problem, settings, seed).to(problem.graph.device)


class _Network(StackedModel):
    """Target types come first among the types, so that their rows are all that `encode` must give."""

    def __init__(self, options: HGT, problem: Problem, settings: TrainSettings, seed: int) -> None:
        graph = problem.graph
        levels = reaching(graph.schema, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=levels[0])
        draw = seeded("cpu", seed, "layers")
        relations = [[r for t in level for r in graph.schema.into(t)] for level in levels[1:]]
        self.layers = nn.ModuleList(_Layer(graph, rs, settings.dim, options.heads, draw) for rs in relations if rs)

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Rows of the target types."""
        states: States = {t: self.rows(h, t) for t in self.types}
        for layer in self.layers:
            states = layer(states, lambda x: self.drop(x, generator))
        return torch.cat([states[t] for t in self.targets])


class _Layer(nn.Module):
    """One layer over some relations; types they do not reach keep their state.

    Sources are laid out relation by relation, since each relation has its own keys and messages of them.
    """

    def __init__(
        self, graph: HeteroGraph, relations: Sequence[Relation], dim: int, heads: int, draw: torch.Generator
    ) -> None:
        super().__init__()
        self.relations, self.heads, self.width = tuple(relations), heads, dim // heads
        self.sources = tuple(dict.fromkeys(r.source for r in relations))
        self.reached = tuple(dict.fromkeys(r.target for r in relations))
        self.keys, self.values = (_maps(self.sources, dim, draw) for _ in range(2))
        self.queries, self.outputs = (_maps(self.reached, dim, draw) for _ in range(2))
        shape = (len(relations), heads, self.width, self.width)
        self.attention, self.messages = (nn.Parameter(glorot(*shape, generator=draw)) for _ in range(2))
        self.prior = nn.Parameter(torch.ones(len(relations), heads, 1, 1))
        self.gates = nn.Parameter(torch.ones(len(self.reached)))
        self.edges = HeldPairs(_edges(graph, relations, self.reached))

    def forward(self, states: States, drop: Callable[[Tensor], Tensor]) -> States:
        """The next states of the types that relations reach, and those of the others as they are."""
        queries = [self._by_head(m(states[t])) for m, t in zip(self.queries, self.reached, strict=True)]
        keys = self._sent(states, self.keys, self.attention * self.prior * self.width**-0.5)
        sums = attend(torch.cat(queries, 1), keys, self._sent(states, self.values, self.messages), self.edges.pairs)
        sizes = [q.shape[1] for q in queries]
        parts = F.gelu(sums.transpose(0, 1).flatten(1)).split_with_sizes(sizes)
        after = dict(states)
        for t, part, output, gate in zip(self.reached, parts, self.outputs, self.gates.sigmoid(), strict=True):
            after[t] = gate * drop(output(part)) + (1 - gate) * states[t]
        return after

    def _sent(self, states: States, maps: nn.ModuleList, matrices: Tensor) -> Tensor:
        """Sources of every relation after the map of their type and the relation's matrices, (heads, rows, width)."""
        mapped = {t: self._by_head(m(states[t])) for m, t in zip(maps, self.sources, strict=True)}
        return torch.cat([mapped[r.source] @ w for r, w in zip(self.relations, matrices, strict=True)], 1)

    def _by_head(self, h: Tensor) -> Tensor:
        return h.view(-1, self.heads, self.width).transpose(0, 1)


def attend(queries: Tensor, keys: Tensor, values: Tensor, edges: Pairs) -> Tensor:
    """Sum of values over the edges into each row, weighted by softmax of `query · key`; rows without edges get 0.

    All are (heads, rows, width). The weights' numerators and their sum come out of one product, with a column of ones.
    """
    scores = torch.stack([edges.scores(q, k) for q, k in zip(queries.contiguous(), keys.contiguous(), strict=True)])
    rows = edges.left.long().expand_as(scores)
    with torch.no_grad():
        lowest = scores.new_full(queries.shape[:2], -torch.inf)
        highest = lowest.scatter_reduce(1, rows, scores, "amax").gather(1, rows)
    weights = (scores - highest).exp()
    looped = torch.cat([values, values.new_ones(*values.shape[:2], 1)], 2)
    sums = torch.stack([weighted_sums(w, v, edges, queries.shape[1]) for w, v in zip(weights, looped, strict=True)])
    return sums[..., :-1] / sums[..., -1:].clamp_min(1e-6)  # a row with an edge sums up to 1 or more


def _maps(types: Sequence[str], dim: int, draw: torch.Generator) -> nn.ModuleList:
    return nn.ModuleList(Affine(dim, dim, draw) for _ in types)


def _edges(graph: HeteroGraph, relations: Sequence[Relation], reached: Sequence[str]) -> Pairs:
    """All edges as pairs of target row, by type, and source row, by relation."""
    starts = dict(zip(reached, np.cumsum([0, *(graph.num_nodes[t] for t in reached)]), strict=False))
    pairs, sources = [], 0
    for relation in relations:
        source, target = graph.edge_index(relation)
        pairs.append(np.stack([target + starts[relation.target], source + sources], axis=1))
        sources += graph.num_nodes[relation.source]
    built, _ = Pairs.build(np.concatenate(pairs), sum(graph.num_nodes[t] for t in reached), sources)
    return built
