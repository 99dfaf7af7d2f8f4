"""Relations beside the interactions that hold the pairs to be predicted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import beta

from diffmg.graph.network import HeteroGraph
from diffmg.leaks.finding import Finding

COVERED = 0.5
"""Share of the positive pairs that a way must link to be told."""
FAR = 10
"""How many times more often than negative ones, with confidence."""
MOST_PAIRS = 20_000
MOST_LINKS = 5_000_000
Ints = NDArray[np.int64]
Ways = Iterator[tuple[str, str, sp.csr_matrix]]


def telling_pairs(
    graph: HeteroGraph, ends: tuple[str, str], users: Ints, items: Ints, positive: NDArray[np.bool_]
) -> list[Finding]:
    """Relations, and node types between the two ends, that link positive pairs far more often than negative ones."""
    drawn = np.random.default_rng(0).permutation(len(users))[:MOST_PAIRS]
    users, items, positive = users[drawn], items[drawn], positive[drawn]
    if not positive.any():
        return []
    found, rows = [], np.unique(users)
    for what, name, ways in _ways(graph, ends, rows):
        linked = np.asarray(ways[np.searchsorted(rows, users), items]).ravel() > 0
        hits, false = int(linked[positive].sum()), int(linked[~positive].sum())
        total, others = int(positive.sum()), int((~positive).sum())
        chance = float(beta.ppf(0.95, false + 1, max(1, others - false)))
        if hits / total >= COVERED and hits / total >= FAR * (false / max(1, others)) and hits / total > 2 * chance:
            evidence = f"links {hits} of {total} positive pairs of training and validation, {false} of {others} others"
            step = f"if it is not known before a pair is decided, take '{name}' out of the network"
            found.append(Finding(what, evidence, step))
    return found


def _ways(graph: HeteroGraph, ends: tuple[str, str], rows: Ints) -> Ways:
    """Matrices (users, items): a relation between them, or two by way of another type."""
    user, item = ends
    for relation, matrix in graph.adjacency.items():
        if (relation.source, relation.target) == (item, user):
            yield f"'{relation}'", relation.name, matrix[rows]
        elif (relation.source, relation.target) == (user, item):
            yield f"'{relation}'", relation.name, sp.csr_matrix(matrix[:, rows].T)
    into_users = [r for r in graph.schema.into(user) if r.source not in ends]
    for last in into_users:
        for first in graph.schema.into(last.source):
            near, far = graph.adjacency[last][rows], graph.adjacency[first]
            if first.source == item and (near @ np.diff(far.indptr)).sum() <= MOST_LINKS:
                yield f"{last.source!r}, by '{first}' and '{last}',", last.source, sp.csr_matrix(near @ far)
