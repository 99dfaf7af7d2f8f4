"""Duplicates over the split: nodes with the same features and neighbours on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.leaks.finding import Finding

MANY, SHARE = 10, 0.05
"""Validation nodes that must have a twin in training, in number and as a share."""
SMALL = 8
"""Nodes of one look at most: more of them are alike because little is known of them."""
AGREE = 0.95
"""Share of twins that must have the same label."""
MOST_EDGES = 20_000_000
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
FACTOR = np.uint64(0x9E3779B97F4A7C15)


def twins(graph: HeteroGraph, target: str, train: Ints, val: Ints, labels: NDArray[np.generic]) -> list[Finding]:
    """Whether many validation nodes look like a training node; `labels` are those of all nodes of the type."""
    if sum(graph.adjacency[r].nnz for r in graph.schema.into(target)) > MOST_EDGES:
        return []
    codes = np.unique(looks(graph, target), return_inverse=True)[1]
    small = (np.bincount(codes) <= SMALL)[codes]
    first = np.full(codes.max(initial=0) + 1, -1, np.int64)
    first[codes[train]] = train
    held = val[small[val] & (first[codes[val]] >= 0)]
    if len(held) < max(MANY, SHARE * len(val)):
        return []
    same = labels[held] == labels[first[codes[held]]]
    agree = float((same if same.ndim == 1 else same.all(axis=1)).mean())
    if agree < AGREE:
        return []
    evidence = (
        f"are in training and in validation: {len(held)} of {len(val)} validation nodes have the features and "
        f"neighbours of a training node, and {agree:.1%} of those its label too"
    )
    return [
        Finding(f"duplicates of {target}", evidence, "remove them, or keep duplicates in one part by a split column")
    ]


def looks(graph: HeteroGraph, target: str) -> Hashes:
    """A hash of each node's features and, for each relation, of the features (or identity) of its neighbours."""
    found = _own(graph, target) if target in graph.features else np.zeros(graph.num_nodes[target], np.uint64)
    for number, relation in enumerate(graph.schema.into(target)):
        matrix = graph.adjacency[relation]
        other = _mixed(_own(graph, relation.source) + np.uint64(number))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(other[matrix.indices], dtype=np.uint64)])
        found = _mixed(found) + (sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]])
    return found


def _own(graph: HeteroGraph, node_type: str) -> Hashes:
    """A hash of each node's features; of its number where it has none."""
    features = graph.features.get(node_type)
    if features is None:
        return _mixed(np.arange(1, graph.num_nodes[node_type] + 1, dtype=np.uint64))
    matrix = features.to_scipy() if isinstance(features, FixedMatrix) else features.numpy(force=True)
    weights = np.random.default_rng(0).standard_normal(matrix.shape[1])
    return _mixed((np.asarray(matrix @ weights) + 0.0).astype(np.float64).view(np.uint64))


def _mixed(values: Hashes) -> Hashes:
    """Spread the bits, so that sums of hashes rarely coincide."""
    values = (values ^ (values >> np.uint64(30))) * FACTOR
    return values ^ (values >> np.uint64(27))
