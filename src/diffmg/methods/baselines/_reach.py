"""Which types and relations can reach the targets, and the homogeneous network (types ignored)."""

from collections.abc import Collection, Sequence

import numpy as np
import scipy.sparse as sp

from diffmg.core import Relation, Schema
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import starts_of


def types_within(schema: Schema, targets: Sequence[str], hops: int) -> tuple[str, ...]:
    """Node types within `hops` relations of a target type, in either direction."""
    near = set(targets)
    ends = [{r.source, r.target} for r in schema.relations]
    for _ in range(hops):
        near |= set().union(*(pair for pair in ends if pair & near))
    return tuple(t for t in schema.node_types if t in near)


def reaching(schema: Schema, targets: Sequence[str], steps: int) -> tuple[tuple[str, ...], ...]:
    """Types whose state can still reach the targets, before the first step and after each; targets first."""
    levels = [tuple(targets)]
    for _ in range(steps):
        sources = (r.source for t in levels[0] for r in schema.into(t))
        levels.insert(0, tuple(dict.fromkeys((*levels[0], *sources))))
    return tuple(levels)


def relations_by_layer(
    relations: Sequence[Relation], targets: Collection[str], layers: int
) -> list[tuple[Relation, ...]]:
    """For each layer, the relations whose messages can still reach a target."""
    live, found = set(targets), []
    for _ in range(layers):
        found.append(tuple(r for r in relations if r.target in live))
        live |= {r.source for r in found[-1]}
    return found[::-1]


def union(graph: HeteroGraph) -> sp.csr_matrix:
    """Homogeneous adjacency, (N, N): 1 where any relation links two different nodes in either direction."""
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
    """The submatrix of these types from a matrix over all nodes."""
    starts = starts_of(graph)
    rows = np.concatenate([np.arange(starts[t], starts[t] + graph.num_nodes[t]) for t in types])
    return sp.csr_matrix(matrix[rows][:, rows])


def mean_over_neighbours(adjacency: sp.csr_matrix) -> sp.csr_matrix:
    """Row-normalised adjacency; empty rows stay empty."""
    matrix = adjacency.copy()
    matrix.eliminate_zeros()
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return sp.csr_matrix(sp.diags(1 / np.where(total > 0, total, 1)) @ matrix)
