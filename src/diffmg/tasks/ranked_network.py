"""A ranking on a network that is there already: a relation's edges are split, and what is held out is removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core import PARTS, DiffmgError, Part, Relation
from diffmg.graph.aggregation import has_weights, propagation_of
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.holding_out import at_random, back_to_training
from diffmg.tasks.item_ranking import ItemRanking
from diffmg.tasks.labels import Shares
from diffmg.tasks.problem import Problem
from diffmg.tasks.two_ends import marks

Ints = NDArray[np.int64]


def rank_along(
    graph: HeteroGraph,
    relation: Relation | str,
    *,
    more: Ints | None = None,
    shares: Shares = (0.8, 0.1, 0.1),
    seed: int = 0,
    **options: Any,
) -> Problem:
    """Rank the targets of a relation for its sources: each user's edges are split by `shares`, at random.

    What is held out is removed from the relation and from its reverse. `more` are rows (user, item) that were liked
    but are no edges yet; `options` are those of `ItemRanking.build`.
    """
    along = _named(graph, relation)
    pairs = graph.edge_index(along).T if more is None else np.concatenate([graph.edge_index(along).T, more])
    pairs = np.unique(pairs, axis=0)
    part = back_to_training(at_random(pairs[:, 0], shares, seed), pairs[:, 1])
    liked: dict[Part, Ints] = {name: pairs[part == number] for number, name in enumerate(PARTS)}
    shape = (graph.num_nodes[along.source], graph.num_nodes[along.target])
    train = _with_edges(graph, along, liked["train"])
    given = {"informed": _informed(graph, along)} | options
    return Problem(train, ItemRanking.build(along.source, along.target, shape, liked, **given))


def _named(graph: HeteroGraph, relation: Relation | str) -> Relation:
    if isinstance(relation, Relation):
        return graph.schema.check_relation(relation)
    found = [r for r in graph.schema.relations if r.name == relation]
    if len(found) != 1:
        known = ", ".join(sorted(r.name for r in graph.schema.relations))
        raise DiffmgError(f"a relation is named by one of {known}, but got {relation!r}, which names {len(found)}")
    return found[0]


def _with_edges(graph: HeteroGraph, relation: Relation, pairs: Ints) -> HeteroGraph:
    """The network with only these pairs (source, target) in a relation, and in every relation that is its reverse."""
    old = graph.adjacency[relation]
    new = sp.csr_matrix(marks(pairs, (old.shape[1], old.shape[0])).T, dtype=np.float64)
    there = old.astype(bool).astype(np.float64)
    kept = sp.csr_matrix(new.multiply(old) + (new - new.multiply(there)) if has_weights(old) else new)
    kept.eliminate_zeros()
    changed = {relation: kept}
    for other in _reverses(graph, relation):
        changed[other] = sp.csr_matrix(kept.T)
    return _replaced(graph, changed)


def _reverses(graph: HeteroGraph, relation: Relation) -> Sequence[Relation]:
    """Relations with the same edges in the other direction."""
    wanted = sp.csr_matrix(graph.adjacency[relation].T)
    back = [r for r in graph.schema.relations if (r.source, r.target) == (relation.target, relation.source)]
    return [r for r in back if (graph.adjacency[r] != wanted).nnz == 0]


def _replaced(graph: HeteroGraph, changed: Mapping[Relation, sp.csr_matrix]) -> HeteroGraph:
    for matrix in changed.values():
        matrix.sort_indices()
    device = next(iter(graph.propagation.values())).matrix.forward.device
    made = {r: propagation_of(r, matrix).to(device) for r, matrix in changed.items()}
    return replace(graph, adjacency={**graph.adjacency, **changed}, propagation={**graph.propagation, **made})


def _informed(graph: HeteroGraph, relation: Relation) -> NDArray[np.bool_]:
    """Users with features, or with an edge of a relation that is not one between users and items."""
    user = relation.source
    found = np.full(graph.num_nodes[user], user in graph.features)
    for other, matrix in graph.adjacency.items():
        if {other.source, other.target} == {relation.source, relation.target}:
            continue
        if other.target == user:
            found |= np.diff(matrix.indptr) > 0
        if other.source == user:
            found[matrix.indices] = True
    return found
