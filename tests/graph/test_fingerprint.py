from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.schema import Relation
from diffmg.graph.fingerprint import canonical_order, fingerprint, graph_digests, graph_fingerprint
from diffmg.graph.network import HeteroGraph
from worlds import World, worlds

AB = Relation("a", "r", "b")
NUMBERS = np.arange(6.0).reshape(3, 2)


def graph_of(edges=((0, 1), (1, 0)), **more) -> HeteroGraph:
    return HeteroGraph.build({"a": 3, "b": 2}, {AB: edges}, **more)


def test_is_sixteen_hex_digits():
    assert len(fingerprint("x")) == 16
    assert int(fingerprint("x"), 16) >= 0


def test_same_parts_same_hash():
    assert fingerprint("x", np.arange(3), torch.ones(2)) == fingerprint("x", np.arange(3), torch.ones(2))


def test_a_tensor_counts_as_its_array():
    assert fingerprint(torch.arange(3)) == fingerprint(np.arange(3))


@pytest.mark.parametrize(
    "other",
    [
        ("y", np.arange(6)),
        (np.arange(6), "x"),
        ("x", np.arange(6).astype(np.int32)),
        ("x", np.arange(6).reshape(2, 3)),
        ("x", np.arange(6)[::-1]),
        ("x",),
    ],
)
def test_other_text_order_kind_shape_or_value_changes_the_hash(other):
    assert fingerprint("x", np.arange(6)) != fingerprint(*other)


@pytest.mark.parametrize("kind", [str, object])
def test_arrays_of_strings(kind):
    one, other = np.array(["x", "y"], kind), np.array(["x", "z"], kind)
    assert fingerprint(one) == fingerprint(one.copy())
    assert fingerprint(one) != fingerprint(other)


def test_layout_in_memory_does_not_matter():
    rows = np.arange(6).reshape(2, 3)
    assert fingerprint(rows) == fingerprint(np.asfortranarray(rows))


def test_order_of_edges_does_not_matter():
    assert graph_fingerprint(graph_of([[0, 1], [1, 0]])) == graph_fingerprint(graph_of([[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    "other",
    [
        graph_of([[0, 2], [1, 0]]),
        graph_of(weights={AB: [1.0, 2.0]}),
        graph_of(features={"a": np.ones((3, 1))}),
        graph_of(features={"a": sp.csr_matrix(np.ones((3, 1)))}),
        graph_of(ids={"a": ["x", "y", "z"]}),
        graph_of(reverse=True),
        HeteroGraph.build({"a": 4, "b": 2}, {AB: [[0, 1], [1, 0]]}),
        HeteroGraph.build({"a": 3, "b": 2}, {("a", "other", "b"): [[0, 1], [1, 0]]}),
    ],
)
def test_any_change_of_the_network_changes_the_hash(other):
    assert graph_fingerprint(other) != graph_fingerprint(graph_of())


def test_a_sparse_column_of_zeros_changes_the_hash():
    narrow, wide = (graph_of(features={"a": sp.csr_matrix(np.eye(3, n))}) for n in (3, 4))
    assert graph_fingerprint(narrow) != graph_fingerprint(wide)


def with_ids(world: World) -> HeteroGraph:
    """A network whose ids are in no order."""
    ids = {t: [f"{t}{(7 * i + 3) % 11}" for i in range(n)] for t, n in world.num_nodes.items()}
    return HeteroGraph.build(world.num_nodes, world.edges, world.features, weights=world.weights, ids=ids)


def orders_of(graph: HeteroGraph, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {t: rng.permutation(n) for t, n in graph.num_nodes.items()}


@given(worlds(), st.integers(0, 99))
def test_any_order_of_the_nodes_has_the_same_digests(world, seed):
    graph = with_ids(world)
    assert graph_digests(graph.permuted(orders_of(graph, seed))) == graph_digests(graph)


@given(worlds())
def test_the_canonical_order_sorts_by_id(world):
    graph = with_ids(world)
    there = graph.permuted(canonical_order(graph))
    assert all(np.array_equal(ids, np.sort(ids)) for ids in there.ids.values())
    assert canonical_order(there) == {}
    assert canonical_order(world.graph()) == {}


def changed(**more) -> HeteroGraph:
    given = {
        "edges": [[0, 1], [1, 0]],
        "weights": {AB: [1.0, 2.0]},
        "features": {"a": NUMBERS, "b": sp.csr_matrix(np.eye(2))},
        "ids": {"a": ["z", "x", "y"], "b": [4, 2]},
    }
    return graph_of(**(given | more))


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (changed(), []),
        (changed(features={"a": NUMBERS + 1e-6, "b": sp.csr_matrix(np.eye(2))}), ["features of a"]),
        (changed(features={"a": NUMBERS}), ["features of b"]),
        (changed(edges=[[0, 2], [1, 0]]), ["edges of a -r-> b"]),
        (changed(weights={AB: [1.0, 2.5]}), ["edges of a -r-> b"]),
        (changed(ids={"a": ["z", "x", "q"], "b": [4, 2]}), ["nodes of a", "features of a", "edges of a -r-> b"]),
        (changed(ids={"a": ["z", "x", "y"], "b": [4, 3]}), ["nodes of b"]),
        (changed(ids={"b": [4, 2]}), ["nodes of a", "features of a", "edges of a -r-> b"]),
    ],
    ids=["nothing", "a value", "a type's features", "an edge", "a weight", "an id", "a number", "no ids"],
)
def test_the_digests_say_what_differs(other, parts):
    before, now = graph_digests(changed()), graph_digests(other)
    assert before.keys() == now.keys()
    assert [name for name in before if before[name] != now[name]] == parts


def test_ids_given_the_other_way_round_are_another_network():
    """The same ids on other nodes: the same set of ids, but other features and edges."""
    turned = changed(ids={"a": ["y", "x", "z"], "b": [4, 2]})
    differing = {name for name, digest in graph_digests(turned).items() if graph_digests(changed())[name] != digest}
    assert differing == {"features of a", "edges of a -r-> b"}


def test_the_digests_tell_counts_in_words():
    found = graph_digests(changed())
    assert found["nodes of a"].startswith("3 nodes #")
    assert found["features of a"].startswith("2 columns #")
    assert found["edges of a -r-> b"].startswith("2 edges #")
    assert graph_digests(graph_of())["features of a"] == "none"


def test_ids_are_the_same_however_they_are_stored():
    edges = {("a", "r", "b"): [[0], [0]]}
    one, other = (
        HeteroGraph.build({"a": 2, "b": 1}, edges, ids={"a": np.array(["x", "y"], kind)}) for kind in (str, object)
    )
    assert graph_digests(one) == graph_digests(other)
