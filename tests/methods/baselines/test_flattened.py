from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from diffmg.methods.baselines import _flattened
from diffmg.methods.baselines._flattened import FOLDS, KnownLabels, flattened, paths_into, projections
from diffmg.methods.baselines._moves import Move, moves_into
from small_networks import small_world

WORLD = small_world()
GRAPH = WORLD.graph()
LABELS = KnownLabels(np.array([0, 2, 3, 5, 8]), np.eye(2)[[0, 1, 1, 0, 1]], np.array([0, 0, 1, 2, 3]))


def features(node_type: str) -> np.ndarray:
    x = WORLD.features[node_type]
    return x.toarray() if sp.issparse(x) else x


def walks(path: tuple[Move, ...], node: int, chance: float = 1.0) -> list[tuple[int, float]]:
    """Ends of all walks along a path, with the chance of each where every step is drawn by the weights."""
    if not path:
        return [(node, chance)]
    weights = path[0].weights.toarray()[node]
    return [end for n in np.flatnonzero(weights) for end in walks(path[1:], n, chance * weights[n] / weights.sum())]


def total_weight(path: tuple[Move, ...], node: int) -> float:
    """Of all walks along a path, the products of the weights, added up."""
    if not path:
        return 1.0
    weights = path[0].weights.toarray()[node]
    return sum(weights[n] * total_weight(path[1:], n) for n in np.flatnonzero(weights))


def name(path: tuple[Move, ...]) -> str:
    return " <- ".join(move.name for move in path)


def mean_label(path: tuple[Move, ...], node: int) -> np.ndarray:
    """Of the labelled nodes that walks end at, in another fold where the node is a training node itself."""
    folds = dict(zip(LABELS.nodes.tolist(), LABELS.folds.tolist(), strict=True))
    marks = dict(zip(LABELS.nodes.tolist(), LABELS.marks, strict=True))
    told = [(end, p) for end, p in walks(path, node) if end in marks and folds[end] != folds.get(node)]
    return (
        sum((p * marks[end] for end, p in told), np.zeros(2)) / sum(p for _, p in told) if told else np.full(2, np.nan)
    )


@pytest.mark.parametrize("target", ["a", "b"])
def test_blocks_are_what_walks_tell(target):
    labels = LABELS if target == "a" else None
    found = flattened(GRAPH, target, 2, {}, labels)
    wanted = {"features": features(target)} if target == "a" else {}
    for path in paths_into(GRAPH, target, 2):
        ends = [walks(path, node) for node in range(WORLD.num_nodes[target])]
        wanted[f"count of {name(path)}"] = np.log1p([[len(e)] for e in ends])
        if any(move.weighted for move in path):
            wanted[f"weight of {name(path)}"] = np.log1p([[total_weight(path, node)] for node in range(len(ends))])
        last = path[-1].source
        if last in WORLD.features:
            x = features(last)
            nothing = np.full(x.shape[1], np.nan)
            means = [sum(p * x[end] for end, p in e) if e else nothing for e in ends]
            wanted[f"mean of {name(path)}"] = np.array(means)
        if labels is not None and last == target:
            wanted[f"labels of {name(path)}"] = np.array([mean_label(path, n) for n in range(len(ends))])
    assert list(found) == list(wanted)
    for block, x in found.items():
        np.testing.assert_allclose(x, wanted[block], rtol=1e-6, atol=1e-6, err_msg=block)
    assert any(block.startswith("weight") for block in found)
    assert any(np.isfinite(x).any() for block, x in found.items() if block.startswith("labels")) == (target == "a")


def test_paths_are_all_that_fit_together_shortest_first(monkeypatch):
    moves = moves_into(GRAPH)
    one = [(m,) for m in moves["a"]]
    two = [(*path, m) for path in one for m in moves[path[-1].source]]
    assert [name(p) for p in paths_into(GRAPH, "a", 2)] == [name(p) for p in one + two]
    assert all(a.source == t for path in two for a, t in [(path[0], path[0].source)])
    monkeypatch.setattr(_flattened, "MOST_PATHS", len(one) + 3)
    assert [name(p) for p in paths_into(GRAPH, "a", 4)] == [name(p) for p in (one + two)[: len(one) + 3]]


def test_nothing_depends_on_a_nodes_own_label():
    for node, fold in product(LABELS.nodes.tolist(), range(FOLDS)):
        marks = LABELS.marks.copy()
        own = LABELS.nodes == node
        folds = np.where(own, fold, LABELS.folds)
        marks[own] = 1 - marks[own]
        for path in paths_into(GRAPH, "a", 2):
            if path[-1].source == "a":
                one = KnownLabels(LABELS.nodes, LABELS.marks, folds).means(path, 10)[node]
                np.testing.assert_array_equal(one, KnownLabels(LABELS.nodes, marks, folds).means(path, 10)[node])


def test_folds_are_of_equal_size():
    drawn = KnownLabels.draw(np.arange(50), np.ones((50, 1)), np.random.default_rng(0))
    assert np.bincount(drawn.folds).tolist() == [10] * FOLDS


def test_wide_features_are_compressed():
    rng = np.random.default_rng(0)
    projected = projections(GRAPH, 2, rng)
    assert {t: v.shape for t, v in projected.items()} == {"a": (4, 2), "c": (4, 2)}
    found = flattened(GRAPH, "a", 1, projected)
    np.testing.assert_allclose(found["features"], features("a") @ projected["a"], rtol=1e-6)
    u, s, _ = np.linalg.svd(features("a"), full_matrices=False)
    np.testing.assert_allclose(np.abs(found["features"]), np.abs(u * s)[:, :2], rtol=1e-3, atol=1e-4)
    assert projections(GRAPH, 4, rng) == {}
