"""HGT: attention with weights specific to node types and relations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Relation, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline, StackedModel, glorot, starts_of
from diffmg.methods.baselines._buffers import PairsBuffer
from diffmg.methods.baselines._links import weighted_sums
from diffmg.methods.baselines._reach import reaching
from diffmg.nn import Affine
from diffmg.nn.affine import affine
from diffmg.tasks.pairs import Pairs
from diffmg.tasks.problem import Problem

States = Mapping[str, Tensor]
"""A state (n, dim) per node type."""


@METHODS.add("hgt")
@dataclass(frozen=True)
class HGT(Baseline):
    """Hu et al., 2020: the heterogeneous graph transformer, full batch.

    Key, query and value projections per type; per relation and head an attention matrix, a message matrix and a prior;
    softmax over all edges into a node, across relations; then GELU, a projection per type, dropout, and a gated
    residual. As in the authors' code, tanh follows the input projection, the residual is gated, and LayerNorm per type
    follows it (if enabled in the settings); the paper has none of the three. Types without incoming edges keep their
    state. Each layer is built only for what can reach the target types. Left out: relative temporal encoding (the
    networks have no timestamps), subgraph sampling, and edge weights, which the method does not use.
    """

    layers: Count = 2
    heads: Count = 8

    summary = "transformer with maps per type and relation (Hu et al. 2020)"
    tunable: ClassVar = {"layers": (1, 2, 3, 4), "heads": (1, 4, 8)}


@HGT.builds
class _Network(StackedModel):
    """Target types come first, so `encode` need only return their rows."""

    def __init__(self, options: HGT, problem: Problem, settings: Settings, seed: int) -> None:
        graph = problem.graph
        levels = reaching(graph.schema, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=levels[0])
        draw = seeded("cpu", seed, "layers")
        relations = [[r for t in level for r in graph.schema.into(t)] for level in levels[1:]]
        self.layers = nn.ModuleList(_Layer(graph, rs, settings, options.heads, draw) for rs in relations if rs)

    def project(self, graph: HeteroGraph) -> Tensor:
        """Features of all nodes as (nodes, dim), between -1 and 1."""
        return super().project(graph).tanh()

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of the target types."""
        states: States = {t: self.rows(h, t) for t in self.types}
        for layer in self.layers:
            states = layer(states, lambda x: self.drop(x, generator))
        return torch.cat([states[t] for t in self.targets])


class _Layer(nn.Module):
    """One layer over some relations; types without incoming relations keep their state.

    Source rows are repeated per relation, since each relation has its own keys and messages.
    """

    def __init__(
        self, graph: HeteroGraph, relations: Sequence[Relation], settings: Settings, heads: int, draw: torch.Generator
    ) -> None:
        super().__init__()
        dim = settings.dim
        self.relations, self.heads, self.width = tuple(relations), heads, dim // heads
        self.sources = tuple(dict.fromkeys(r.source for r in relations))
        self.reached = tuple(dict.fromkeys(r.target for r in relations))
        self.keys, self.values = (_maps(self.sources, dim, draw) for _ in range(2))
        self.queries, self.outputs = (_maps(self.reached, dim, draw) for _ in range(2))
        shape = (len(relations), heads, self.width, self.width)
        self.attention, self.messages = (nn.Parameter(glorot(*shape, generator=draw)) for _ in range(2))
        self.prior = nn.Parameter(torch.ones(len(relations), heads, 1, 1))
        self.gates = nn.Parameter(torch.ones(len(self.reached)))
        norm = nn.LayerNorm if settings.layer_norm else nn.Identity
        self.norms = nn.ModuleList(norm(dim) for _ in self.reached)
        self.edges = PairsBuffer(_edges(graph, relations, self.reached, heads))

    def forward(self, states: States, drop: Callable[[Tensor], Tensor]) -> States:
        """Updated states of the types that relations reach; the others are unchanged."""
        queries = [m(states[t]) for m, t in zip(self.queries, self.reached, strict=True)]
        keys = self._per_relation(states, self.keys, self.attention * self.prior * self.width**-0.5)
        values = self._per_relation(states, self.values, self.messages)
        shape = (-1, self.width)
        sums = attend(torch.cat(queries).view(shape), keys.view(shape), values.view(shape), self.edges.pairs)
        parts = F.gelu(sums.view(-1, keys.shape[1])).split_with_sizes([len(q) for q in queries])
        after = dict(states)
        ends = zip(self.reached, parts, self.outputs, self.norms, self.gates.sigmoid(), strict=True)
        for t, part, output, norm, gate in ends:
            after[t] = norm(gate * drop(output(part)) + (1 - gate) * states[t])
        return after

    def _per_relation(self, states: States, maps: nn.ModuleList, matrices: Tensor) -> Tensor:
        """Source states projected by their type's map and the relation's matrices, (rows, dim).

        The heads' matrices form one block-diagonal matrix, which is multiplied into the projection weights first.
        """
        blocks = matrices.movedim(1, 3).diag_embed(dim1=1, dim2=3).flatten(3).flatten(1, 2)
        of_type = dict(zip(self.sources, maps, strict=True))
        ends = [(states[r.source], of_type[r.source]) for r in self.relations]
        return torch.cat([affine(h, m.weight @ b, m.bias @ b) for (h, m), b in zip(ends, blocks, strict=True)])


def attend(queries: Tensor, keys: Tensor, values: Tensor, edges: Pairs) -> Tensor:
    """Sum of values over the edges into each row, weighted by softmax of `query · key`; rows without edges get 0.

    All are (rows, width). A column of ones gives the softmax denominator in the same sparse product.
    """
    scores = edges.scores(queries, keys)
    with torch.no_grad():
        lowest = scores.new_full((len(queries),), -torch.inf)
        highest = lowest.scatter_reduce(0, edges.left.long(), scores, "amax")[edges.left]
    weights = (scores - highest).exp()
    looped = torch.cat([values, values.new_ones(len(values), 1)], 1)
    sums = weighted_sums(weights, looped, edges, len(queries))
    return sums[:, :-1] / sums[:, -1:].clamp_min(1e-6)  # rows with an edge sum to 1 or more


def _maps(types: Sequence[str], dim: int, draw: torch.Generator) -> nn.ModuleList:
    return nn.ModuleList(Affine(dim, dim, draw) for _ in types)


def _edges(graph: HeteroGraph, relations: Sequence[Relation], reached: Sequence[str], heads: int) -> Pairs:
    """All edges as pairs (target row, source row), repeated per head; targets by type, sources by relation."""
    starts, pairs, sources = starts_of(graph, reached), [], 0
    for relation in relations:
        source, target = graph.edge_index(relation)
        pairs.append(np.stack([target + starts[relation.target], source + sources], axis=1))
        sources += graph.num_nodes[relation.source]
    copies = np.concatenate(pairs)[:, None] * heads + np.arange(heads)[:, None]
    return sorted_pairs(copies.reshape(-1, 2), heads * sum(graph.num_nodes[t] for t in reached), heads * sources)


def sorted_pairs(pairs: NDArray[np.int64], n_left: int, n_right: int) -> Pairs:
    """Like `Pairs.build` for unique pairs, in linear time."""
    matrix = sp.csr_matrix((np.ones(len(pairs), np.int8), pairs.T), (n_left, n_right))
    matrix.data = np.arange(matrix.nnz)
    back = matrix.T.tocsr()
    rows = np.repeat(np.arange(n_left, dtype=np.int32), np.diff(matrix.indptr))
    tables = (rows, matrix.indices, matrix.indptr, back.indptr, back.data, back.indices)
    return Pairs(*(torch.from_numpy(table) for table in tables))
