"""Where something may be told from: the relations into a node type, and those into their sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.leaks.labels import Labels

MOST_LINKS = 2_000_000
"""Links of a path that are looked at: those of as many labelled nodes as have no more."""


@dataclass(frozen=True, eq=False)
class Path:
    """The nodes that labelled nodes are linked to, over one or two relations."""

    relations: tuple[Relation, ...]
    """The last one leads into the labelled type."""
    links: sp.csr_matrix
    """(labels, nodes of the first source): how many ways lead from one to the other."""
    weights: NDArray[np.float64] | None = None
    """Weights of the links, where a relation has any other than 1."""

    @property
    def source(self) -> str:
        """The type at its far end."""
        return self.relations[0].source

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many ways lead to each labelled node."""
        return np.asarray(self.links.sum(axis=1), np.float64).ravel()

    def rows(self, chosen: NDArray[np.bool_]) -> Path:
        """The links of some of the labelled nodes."""
        kept = np.repeat(chosen, np.diff(self.links.indptr))
        return replace(self, links=self.links[chosen], weights=None if self.weights is None else self.weights[kept])

    def places(self, seed: int = 0) -> NDArray[np.int64]:
        """For each labelled node, which must have links, the place of one of them, drawn at random.

        One alone, since many honest ones together may well tell the label: only where each does, it leaks.
        """
        degree = np.diff(self.links.indptr)
        return np.asarray(self.links.indptr[:-1] + np.random.default_rng(seed).random(len(degree)) * degree, np.int64)

    def drawn(self) -> NDArray[np.int64]:
        """One linked node of each labelled node, at random."""
        return np.asarray(self.links.indices[self.places()], np.int64)

    def largest(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """The largest value of each column among the linked nodes of each labelled node, which must have some."""
        found = np.maximum.reduceat(values[self.links.indices], self.links.indptr[:-1], axis=0)
        return np.asarray(found, np.float64)

    def __str__(self) -> str:
        return " then ".join(f"'{r}'" for r in reversed(self.relations))


def paths_to(graph: HeteroGraph, target: str, labels: Labels) -> Iterator[Path]:
    """Paths of one relation, then of two; those that come back to the labelled type are not followed."""
    into = graph.schema.into(target)
    for relation in into:
        yield _short(graph, relation, labels)
    for last in into:
        for first in graph.schema.into(last.source) if last.source != target else ():
            if first.source != target:
                yield _long(graph, first, last, labels)


def _short(graph: HeteroGraph, relation: Relation, labels: Labels) -> Path:
    matrix = graph.adjacency[relation]
    kept = _within(np.diff(matrix.indptr)[labels.nodes])
    links = matrix[labels.nodes[:kept]]
    weighted = links.nnz and np.ptp(links.data) > 0
    return Path((relation,), _ones(links), np.asarray(links.data, np.float64) if weighted else None)


def _long(graph: HeteroGraph, first: Relation, last: Relation, labels: Labels) -> Path:
    near, far = _ones(graph.adjacency[last]), _ones(graph.adjacency[first])
    degree = np.diff(far.indptr).astype(np.float64)
    kept = _within(_row_sums(near, labels, degree))
    links = sp.csr_matrix(near[labels.nodes[:kept]] @ far)
    return Path((first, last), links)


def _row_sums(near: sp.csr_matrix, labels: Labels, degree: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = _within(np.diff(near.indptr)[labels.nodes])
    return np.asarray(near[labels.nodes[:kept]] @ degree + 1)


def _within(sizes: NDArray[np.float64]) -> int:
    """How many of the first nodes have no more links than are looked at."""
    return int(np.searchsorted(np.cumsum(sizes), MOST_LINKS, side="right"))


def _ones(matrix: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), matrix.shape)
