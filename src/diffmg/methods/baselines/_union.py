"""The network with its types forgotten: one matrix over the nodes of several types, numbered together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._stacked import starts_of


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
