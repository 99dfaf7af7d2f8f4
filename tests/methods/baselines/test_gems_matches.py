"""Matches of meta structures, compared with trying every assignment of nodes to slots."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import scipy.sparse as sp

from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._gems_matches import limited_product, matches
from diffmg.methods.baselines._gems_structure import Edge, Structure, grown

NODES = {"user": 5, "item": 4, "brand": 3}
ENDS = [tuple(text.split()) for text in ("user buys item", "item bought user", "user knows user")]
ENDS += [("item", "made", "brand"), ("brand", "makes", "item")]


def network() -> HeteroGraph:
    """Half of all pairs are edges, so that structures of several paths have instances."""
    rng = np.random.default_rng(0)
    edges = {ends: np.argwhere(rng.random((NODES[ends[0]], NODES[ends[2]])) < 0.5).T for ends in ENDS}
    return HeteroGraph.build(NODES, edges)


GRAPH = network()
RELATIONS = {r.name: r for r in GRAPH.schema.relations}


def by_trying(graph: HeteroGraph, structure: Structure) -> np.ndarray:
    """Ones (users, items) where some assignment of nodes to the slots has every edge."""
    edges = [(e.i, e.k, graph.adjacency[e.relation].toarray() != 0) for e in structure.edges]
    found = np.zeros((graph.num_nodes[structure.slots[-1]], graph.num_nodes[structure.slots[0]]))
    for nodes in product(*(range(graph.num_nodes[t]) for t in structure.slots)):
        if all(linked[nodes[k], nodes[i]] for i, k, linked in edges):
            found[nodes[-1], nodes[0]] = 1
    return found


def test_matches_are_those_found_by_trying_every_assignment():
    rng, start = random.Random(0), Structure.along([RELATIONS["bought"]])
    structures = {grown(start, GRAPH.schema, 5, 0.3, rng) for _ in range(60)}
    structures |= {grown(s, GRAPH.schema, 5, 0.3, rng) for s in sorted(structures)}
    seen = 0
    for structure in sorted(structures):
        found = matches(GRAPH, structure, 1000)
        if found is not None:
            assert np.array_equal(found.toarray(), by_trying(GRAPH, structure))
            seen += bool(found.nnz) and len(structure.edges) > 3
    assert seen > 3


def test_a_structure_that_is_not_series_parallel_is_refused():
    """A bridge between two paths."""
    bought, knows = RELATIONS["bought"], RELATIONS["knows"]
    edges = (Edge(0, 1, bought), Edge(0, 2, bought), Edge(1, 2, knows), Edge(1, 3, knows), Edge(2, 3, knows))
    bridge = Structure(("item", "user", "user", "user"), edges)
    assert len(bridge.paths()) == 3
    assert matches(GRAPH, bridge, 1000) is None


def test_products_in_blocks_keep_the_largest_counts(monkeypatch):
    monkeypatch.setattr("diffmg.methods.baselines._gems_matches.ROWS", 3)
    rng = np.random.default_rng(0)
    left, right = (sp.csr_matrix((rng.random(shape) < 0.5) * rng.random(shape)) for shape in ((10, 8), (8, 12)))
    full = (left @ right).toarray()
    assert np.allclose(limited_product(left, right, 100).toarray(), full)
    few = limited_product(left, right, 4).toarray()
    for row, wanted in zip(few, full, strict=True):
        assert np.allclose(row, np.where(wanted >= np.sort(wanted)[-4], wanted, 0))
    parallel = sp.csr_matrix((rng.random((10, 12)) < 0.2).astype(float))
    assert np.allclose(limited_product(left, right, 4, parallel).toarray(), full * parallel.toarray())
