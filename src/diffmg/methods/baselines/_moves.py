"""Which relations lead to a type's nodes, in both directions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from diffmg.graph.aggregation import has_weights
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._paths import pattern, reverses_of


@dataclass(frozen=True)
class Move:
    """A relation taken in one direction: rows are the nodes it leads to, columns those it comes from."""

    name: str
    source: str
    links: sp.csr_matrix
    """Ones, without the weights of edges."""
    weights: sp.csr_matrix
    """The weights of edges; ones too where they have none."""

    @property
    def weighted(self) -> bool:
        """Whether any edge has a weight other than 1."""
        return has_weights(self.weights)


def moves_into(graph: HeteroGraph) -> Mapping[str, tuple[Move, ...]]:
    """By node type, every relation into it, and backwards every relation out of it that has no reverse.

    Where rows have a time, nothing goes backwards.
    """
    found: dict[str, list[Move]] = {t: [] for t in graph.schema.node_types}
    reverses = reverses_of(graph)
    for relation in graph.schema.relations:
        links = pattern(graph, relation).astype(np.float64)
        weights = sp.csr_matrix(graph.adjacency[relation], copy=True)
        weights.eliminate_zeros()
        found[relation.target].append(Move(str(relation), relation.source, links, weights))
        if relation not in reverses and not graph.timed:
            back = sp.csr_matrix(links.T), sp.csr_matrix(weights.T)
            found[relation.source].append(Move(f"{relation}, reversed", relation.target, *back))
    return {t: tuple(moves) for t, moves in found.items()}


def both_sides_scaled(links: sp.csr_matrix) -> sp.csr_matrix:
    """Each entry divided by the square roots of its row's and its column's sum; empty ones stay empty."""
    rows, columns = (np.maximum(np.asarray(links.sum(axis=axis)).ravel(), 1.0) ** -0.5 for axis in (1, 0))
    return sp.csr_matrix(sp.diags(rows) @ links @ sp.diags(columns))
