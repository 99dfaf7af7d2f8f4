from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaPath
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines import _path_walks
from diffmg.methods.baselines._path_walks import chain, instances, neighbours, product, walk
from small_networks import AA, AB, AC, BA, BB, CB, small_world
from worlds import World, worlds


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def edges_of(graph: HeteroGraph, relation: Relation) -> list[tuple[int, int]]:
    """(source, target) of the edges whose weight is not zero."""
    dense = graph.adjacency[relation].toarray()
    return [(int(s), int(t)) for t, s in np.argwhere(dense != 0)]


def every_instance(graph: HeteroGraph, path: MetaPath) -> list[tuple[int, ...]]:
    """By brute force: all chains of edges, nodes in the order messages take them."""
    found: list[tuple[int, ...]] = [(n,) for n in range(graph.num_nodes[path[0].source])]
    for relation in path:
        edges = edges_of(graph, relation)
        found = [(*nodes, t) for nodes in found for s, t in edges if s == nodes[-1]]
    return found


@st.composite
def worlds_with_paths(draw: st.DrawFn) -> tuple[World, MetaPath]:
    """A path of up to 4 relations, which need not be closed."""
    world = draw(worlds())
    path = [draw(st.sampled_from(world.schema.relations))]
    while len(path) < 4 and (onward := [r for r in world.schema.relations if r.source == path[-1].target]):
        path.append(draw(st.sampled_from(onward)))
    return world, tuple(path)


@given(worlds_with_paths())
def test_all_instances_where_there_are_few(case):
    world, path = case
    graph = world.graph()
    found = instances(graph, path, 10**6, rng())
    assert sorted(map(tuple, found.tolist())) == sorted(every_instance(graph, path))
    assert found.shape[1] == len(path) + 1
    assert (np.diff(found[:, -1]) >= 0).all()


@given(worlds_with_paths(), st.integers(1, 3))
def test_sampled_instances_are_instances_and_few(case, sampled):
    world, path = case
    graph = world.graph()
    found = [tuple(row) for row in instances(graph, path, sampled, rng()).tolist()]
    everything = every_instance(graph, path)
    assert len(set(found)) == len(found)
    assert set(found) <= set(everything)
    has, had = (Counter(nodes[-1] for nodes in rows) for rows in (found, everything))
    for node, count in had.items():
        assert has[node] == count if count <= sampled else 1 <= has[node] <= sampled


def test_instances_are_drawn_uniformly():
    """a0 has an edge to b0, which has three to c, and to b1, which has one: all four ways are equally likely."""
    graph = HeteroGraph.build(
        {"a": 1, "b": 2, "c": 4}, {("c", "r", "b"): [[0, 1, 2, 3], [0, 0, 0, 1]], ("b", "s", "a"): [[0, 1], [0, 0]]}
    )
    path = (Relation("c", "r", "b"), Relation("b", "s", "a"))
    draws = [instances(graph, path, 1, np.random.default_rng(seed))[0] for seed in range(2000)]
    shares = np.bincount([row[0] for row in draws], minlength=4) / 2000
    assert abs(shares - 0.25).max() < 0.04


def test_too_many_instances_raise(monkeypatch):
    monkeypatch.setattr(_path_walks, "MOST_INSTANCES", 5)
    with pytest.raises(DiffmgError, match="give a shorter"):
        instances(small_world().graph(), (BB,), 4, rng())


def all_pairs(graph: HeteroGraph, path: MetaPath) -> set[tuple[int, int]]:
    """(node that receives, neighbour), each node its own neighbour too."""
    ends = {(nodes[-1], nodes[0]) for nodes in every_instance(graph, path)}
    return ends | {(n, n) for n in range(graph.num_nodes[path[-1].target])}


@pytest.mark.parametrize("path", [(BB,), (BA, AB), (AB, BA), (AA, AA), (CB, BA, AC)], ids=str)
def test_neighbours_are_the_starts_of_instances(path):
    graph = small_world().graph()
    rows, columns = neighbours(graph, path, 10**6, 1, rng())
    pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
    assert pairs == sorted(all_pairs(graph, path))


@pytest.mark.parametrize("path", [(BB,), (BA, AB), (AB, BA), (AA, AA), (CB, BA, AC)], ids=str)
def test_sampled_neighbours_are_some_of_them(path):
    graph = small_world().graph()
    wanted = all_pairs(graph, path)
    few, many = (list(zip(*neighbours(graph, path, 0, n, rng()), strict=True)) for n in (2, 500))
    assert few == sorted(few)
    assert set(few) <= wanted
    assert max(Counter(row for row, _ in few).values()) <= 3
    assert set(many) == wanted, "with many walks all are found"


def test_the_limit_counts_pairs_without_the_node_itself():
    """Every node of a ring reaches one other: sampling starts below that many pairs."""
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    graph = HeteroGraph.build({"a": 4}, {("a", "next", "a"): ring})
    (relation,) = graph.schema.relations
    assert product(chain(graph, (relation,)), 4) is not None
    assert product(chain(graph, (relation,)), 3) is None


@given(st.integers(1, 1000), st.integers(0, 99))
def test_a_product_in_pieces_is_the_product(rows, seed):
    draw = np.random.default_rng(seed)
    parts = [sp.csr_matrix((draw.random(shape) < 0.05).astype(np.float32)) for shape in ((rows, 30), (30, 20))]
    found = product(parts, 10**6)
    assert found is not None
    assert np.array_equal(found.toarray(), (parts[0].toarray() @ parts[1].toarray()) > 0)


@given(worlds_with_paths(), st.integers(0, 9))
def test_every_step_of_a_walk_is_an_edge(case, seed):
    world, path = case
    graph = world.graph()
    starts = np.arange(graph.num_nodes[path[-1].target]).repeat(3)
    nodes = walk(chain(graph, path), starts, len(path), np.random.default_rng(seed))
    edges = {r: set(edges_of(graph, r)) for r in path}
    for row in nodes.tolist():
        for relation, here, there in zip(reversed(path), row, row[1:], strict=False):
            if there >= 0:
                assert (there, here) in edges[relation]
            else:
                assert here < 0 or here not in {t for _, t in edges[relation]}, "a walk ends at a dead end alone"


def test_steps_are_uniform_and_the_path_repeats():
    """From a0: to b0 or b1; b0 leads on to a0 alone, b1 to a0 and a1."""
    edges = {("b", "ba", "a"): [[0, 1, 1], [0, 0, 1]], ("a", "ab", "b"): [[0, 0, 1], [0, 1, 1]]}
    graph = HeteroGraph.build({"a": 2, "b": 2}, edges)
    path = (Relation("a", "ab", "b"), Relation("b", "ba", "a"))
    nodes = walk(chain(graph, path), np.zeros(4000, np.int64), 4, rng())
    a_to_a = np.array([[0.75, 0.25], [0.5, 0.5]])
    assert abs(np.bincount(nodes[:, 1]) / 4000 - 0.5).max() < 0.04
    assert abs(np.bincount(nodes[:, 2]) / 4000 - a_to_a[0]).max() < 0.04
    assert abs(np.bincount(nodes[:, 4]) / 4000 - (a_to_a @ a_to_a)[0]).max() < 0.04


def test_a_relation_with_no_edge_that_counts_ends_all_walks():
    graph = HeteroGraph.build({"a": 2}, {("a", "r", "a"): [[0], [1]]}, weights={("a", "r", "a"): [0.0]})
    path = graph.schema.relations
    assert walk(chain(graph, path), np.arange(2), 2, rng()).tolist() == [[0, -1, -1], [1, -1, -1]]
    assert len(instances(graph, path, 3, rng())) == 0
    assert neighbours(graph, path, 0, 3, rng())[1].tolist() == [0, 1]
