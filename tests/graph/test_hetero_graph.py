from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.fingerprint import graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from worlds import World, worlds

AB, BA, AA = Relation("a", "r", "b"), Relation("b", "s", "a"), Relation("a", "t", "a")
SIZES = {"a": 3, "b": 2}


def graph_of(edges: dict, **more) -> HeteroGraph:
    return HeteroGraph.build(SIZES, edges, **more)


def dense(matrix: torch.Tensor | FixedMatrix) -> torch.Tensor:
    return matrix.forward.to_dense() if isinstance(matrix, FixedMatrix) else matrix


def matrix_of(graph: HeteroGraph, relation: Relation) -> np.ndarray:
    """A propagation as one dense matrix over target rows and, where it has them, the node's own."""
    step = graph.propagation[relation]
    matrix = step.matrix.forward.to_dense().numpy()
    return matrix if step.keep is None else np.concatenate([matrix, np.diag(step.keep.numpy().ravel())], axis=1)


@given(worlds())
def test_propagation_equals_the_dense_one(world):
    graph = world.graph()
    for relation in graph.schema.relations:
        rows, columns = (oracle.rows_of(world, t) for t in (relation.target, relation.source))
        dense = oracle.propagation(world, relation).numpy()[rows]
        wanted = dense[:, columns]
        if relation.source != relation.target:
            wanted = np.concatenate([wanted, dense[:, rows]], axis=1)
        np.testing.assert_allclose(matrix_of(graph, relation), wanted, rtol=1e-6)


@given(worlds())
def test_adjacency_equals_the_dense_one(world):
    graph = world.graph()
    for relation, matrix in graph.adjacency.items():
        rows, columns = (oracle.rows_of(world, t) for t in (relation.target, relation.source))
        np.testing.assert_array_equal(matrix.toarray(), oracle.adjacency(world, relation)[rows, columns])


def test_relations_are_given_as_triples_or_as_values():
    assert graph_of({AB: [[0], [1]]}).schema == graph_of({AB.triple: [[0], [1]]}).schema


def test_edges_given_twice_count_once():
    graph = graph_of({AB: [[0, 0, 1], [1, 1, 0]]})
    assert graph.adjacency[AB].toarray().tolist() == [[0, 1, 0], [1, 0, 0]]


def test_weights_of_edges_given_twice_add_up():
    graph = graph_of({AB: [[0, 0, 1], [1, 1, 0]]}, weights={AB: [0.5, 2, 1]})
    assert graph.adjacency[AB].toarray().tolist() == [[0, 1, 0], [2.5, 0, 0]]


def test_edge_index_is_sorted_by_target():
    graph = graph_of({AB: [[2, 0, 1], [1, 1, 0]]})
    assert graph.edge_index(AB).tolist() == [[1, 0, 2], [0, 1, 1]]
    assert graph.edge_index(AB).dtype == np.int64


def test_has_edges_looks_from_source_to_target():
    graph = graph_of({AB: [[2, 0], [1, 1]]})
    assert graph.has_edges(AB, [2, 0, 1, 0], [1, 1, 1, 0]).tolist() == [True, True, False, False]


def test_has_edges_sees_edges_of_weight_zero():
    graph = graph_of({AB: [[2], [1]]}, weights={AB: [0.0]})
    assert graph.has_edges(AB, [2], [1]).tolist() == [True]


def test_isolated_nodes_are_touched_by_no_relation():
    """Node 2 of type a sends along one relation and receives along none."""
    graph = graph_of({AB: [[2], [1]], BA: [[1], [0]]})
    assert graph.isolated("a").tolist() == [1]
    assert graph.isolated("b").tolist() == [0]


@pytest.mark.parametrize("relation", [AB, AA])
def test_isolated_nodes_give_no_nan(relation):
    graph = graph_of({relation: [[0], [1]]})
    assert np.isfinite(matrix_of(graph, relation)).all()


def test_symmetric_up_to_rounding_is_symmetric():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit; the relation is symmetric all the same."""
    edges = np.array([[0, 0, 0, 1, 1, 1, 1, 2], [1, 1, 1, 0, 0, 0, 2, 1]])
    graph = graph_of({AA: edges}, weights={AA: [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 1, 1]})
    matrix = matrix_of(graph, AA)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-5)


def test_an_edge_of_weight_zero_leaves_a_relation_symmetric():
    """It carries nothing, whichever way it goes; but it stays an edge of the network."""
    edges, weights = [[0, 0, 0, 1], [0, 1, 2, 0]], [0.25, 1.0, 0.0, 1.0]
    graph = graph_of({AA: edges}, weights={AA: weights}, reverse=True)
    matrix = matrix_of(graph, AA)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-6)
    assert matrix[0, 1] == pytest.approx(1 / np.sqrt(2.25 * 2))
    assert graph.schema.relations == (AA,)
    assert graph.edge_index(AA).shape == (2, 4)


def test_reverse_adds_what_is_missing():
    graph = graph_of({AB: [[2, 0], [1, 1]]}, reverse=True)
    reverse = Relation("b", "rev_r", "a")
    assert graph.schema.relations == (AB, reverse)
    assert graph.edge_index(reverse).tolist() == [[1, 1], [0, 2]]


def test_reverse_keeps_weights():
    graph = graph_of({AB: [[2], [1]]}, weights={AB: [0.5]}, reverse=True)
    assert graph.adjacency[Relation("b", "rev_r", "a")][2, 1] == 0.5


def test_reverse_adds_nothing_where_both_directions_are_there():
    graph = graph_of({AB: [[2, 0], [1, 1]], BA: [[1, 1], [0, 2]]}, reverse=True)
    assert graph.schema.relations == (AB, BA)


def test_reverse_of_a_symmetric_relation_is_itself():
    assert graph_of({AA: [[0, 1], [1, 0]]}, reverse=True).schema.relations == (AA,)


def test_reverse_of_a_directed_relation_within_a_type():
    graph = graph_of({AA: [[0, 1], [1, 2]]}, reverse=True)
    assert graph.schema.relations == (AA, Relation("a", "rev_t", "a"))


def test_reverse_does_not_overwrite_a_relation_of_that_name():
    mine = Relation("b", "rev_r", "a")
    with pytest.raises(DiffmgError, match=r"the reverse of 'a -r-> b' needs .* got 'b"):
        graph_of({AB: [[0], [0]], mine: [[1], [2]]}, reverse=True)


def test_no_reverse_unless_asked_for():
    assert graph_of({AB: [[0], [0]]}).schema.relations == (AB,)


@pytest.mark.parametrize(("ids", "wanted"), [(["z", "x"], [2, 0]), (["y"], [1]), ("z", [2]), ([], [])])
def test_index_of_strings(ids, wanted):
    graph = graph_of({AB: [[0], [0]]}, ids={"a": ["x", "y", "z"]})
    assert graph.index_of("a", ids).tolist() == wanted


def test_index_of_numbers_in_any_order():
    graph = graph_of({AB: [[0], [0]]}, ids={"a": [30, 10, 20]})
    assert graph.index_of("a", [10, 20, 30, 10]).tolist() == [1, 2, 0, 1]


def test_index_of_a_type_without_ids_is_the_node_number():
    assert graph_of({AB: [[0], [0]]}).index_of("a", [2, 0]).tolist() == [2, 0]


@pytest.mark.parametrize("ids", [[10, 40], [40], [-1], ["10"], [None], [10.5], np.array([10, "x"], object)])
def test_index_of_unknown_numbers(ids):
    graph = graph_of({AB: [[0], [0]]}, ids={"a": [30, 10, 20]})
    with pytest.raises(DiffmgError, match=r"every id must be one of the 'a' nodes .* unknown\);"):
        graph.index_of("a", ids)


@pytest.mark.parametrize("ids", [["x", "w"], [1], [None], np.array(["x", 1], object)])
def test_index_of_unknown_strings(ids):
    graph = graph_of({AB: [[0], [0]]}, ids={"a": ["x", "y", "z"]})
    with pytest.raises(DiffmgError, match=r"every id must be one of the 'a' nodes .*ids look"):
        graph.index_of("a", ids)


def test_index_of_says_which_ids_are_unknown():
    graph = graph_of({AB: [[0], [0]]}, ids={"a": [30, 10, 20]})
    with pytest.raises(DiffmgError, match=r"but got \[7, 8\] \(2 unknown\)"):
        graph.index_of("a", [10, 7, 20, 8])


def test_index_of_an_unknown_type():
    with pytest.raises(DiffmgError, match="unknown node type 'c'"):
        graph_of({AB: [[0], [0]]}).index_of("c", [0])


def test_features_may_be_dense_sparse_or_absent():
    graph = graph_of({AB: [[0], [0]]}, features={"a": np.ones((3, 2)), "b": sp.csr_matrix(np.eye(2))})
    assert graph.features["a"].dtype == torch.float32
    assert graph.features["b"].shape == (2, 2)
    assert graph_of({AB: [[0], [0]]}).features == {}


def test_precision_can_be_changed():
    graph = graph_of({AB: [[0], [0]], AA: [[0], [0]]}, features={"a": np.ones((3, 2)), "b": sp.eye(2)})
    double = graph.to(dtype=torch.float64)
    assert double.features["a"].dtype == double.features["b"].forward.dtype == torch.float64
    assert double.propagation[AB].keep.dtype == double.propagation[AA].matrix.backward.dtype == torch.float64


def test_device_is_where_the_matrices_are():
    assert graph_of({AB: [[0], [0]]}).device == torch.device("cpu")


def test_a_network_has_relations():
    with pytest.raises(DiffmgError, match="a network needs one or more relations, but"):
        graph_of({})


def test_unknown_type_in_a_relation():
    with pytest.raises(DiffmgError, match="unknown node type in relation 'a -r-> c':"):
        graph_of({("a", "r", "c"): [[0], [0]]})


def test_unknown_type_in_features():
    with pytest.raises(DiffmgError, match="unknown node type 'c'"):
        graph_of({AB: [[0], [0]]}, features={"c": np.ones((3, 2))})


def test_unknown_type_in_ids():
    with pytest.raises(DiffmgError, match="unknown node type 'c'"):
        graph_of({AB: [[0], [0]]}, ids={"c": [1, 2, 3]})


def test_weights_of_a_relation_that_is_not_there():
    with pytest.raises(DiffmgError, match="unknown relation 'b -s-> a'"):
        graph_of({AB: [[0], [0]]}, weights={BA: [1.0]})


def test_a_relation_is_a_triple():
    with pytest.raises(DiffmgError, match=r"\(source, name, target\)"):
        graph_of({("a", "b"): [[0], [0]]})


@pytest.mark.parametrize("count", [-1, 2.5])
def test_number_of_nodes_is_a_whole_number(count):
    with pytest.raises(DiffmgError, match=f"'c'.*but got.* {count}"):
        HeteroGraph.build({**SIZES, "c": count}, {AB: [[0], [0]]})


def test_features_may_be_read_only():
    features = np.ones((3, 2), np.float32)
    features.flags.writeable = False
    assert graph_of({AB: [[0], [0]]}, features={"a": features}).features["a"].shape == (3, 2)


def test_world_of_one_node():
    world = World({"a": 1}, {AA: np.array([[0], [0]])})
    assert matrix_of(world.graph(), AA).tolist() == [[1.0]]


@given(worlds(), st.integers(0, 99))
def test_permuted_nodes_keep_their_edges_features_and_ids(world, seed):
    graph, rng = world.graph(), np.random.default_rng(seed)
    graph = replace(graph, ids={t: np.arange(n) * 10 for t, n in graph.num_nodes.items()})
    orders = {t: rng.permutation(n) for t, n in graph.num_nodes.items() if rng.random() < 0.8}
    there = graph.permuted(orders)
    place = {t: orders.get(t, np.arange(n)) for t, n in graph.num_nodes.items()}
    for t, ids in graph.ids.items():
        assert there.ids[t].tolist() == ids[place[t]].tolist()
    for t, features in graph.features.items():
        assert torch.equal(dense(there.features[t]), dense(features)[torch.from_numpy(place[t])])
    for r, matrix in graph.adjacency.items():
        wanted = matrix.toarray()[place[r.target]][:, place[r.source]]
        np.testing.assert_array_equal(there.adjacency[r].toarray(), wanted)
        assert there.adjacency[r].nnz == matrix.nnz
        mine, theirs = graph.propagation[r], there.propagation[r]
        product = dense(mine.matrix).numpy()[place[r.target]][:, place[r.source]]
        np.testing.assert_allclose(dense(theirs.matrix).numpy(), product, rtol=1e-6)
        if mine.keep is not None:
            np.testing.assert_allclose(theirs.keep, mine.keep[torch.from_numpy(place[r.target])], rtol=1e-6)


@given(worlds(), st.integers(0, 99))
def test_permuting_back_gives_the_network_again(world, seed):
    graph, rng = world.graph(), np.random.default_rng(seed)
    orders = {t: rng.permutation(n) for t, n in graph.num_nodes.items()}
    back = graph.permuted(orders).permuted({t: np.argsort(order) for t, order in orders.items()})
    assert graph_digests(back) == graph_digests(graph)


def test_no_order_is_no_change():
    graph = graph_of({AB: [[0], [0]]})
    assert graph.permuted({}) is graph


def test_the_text_of_a_network_is_short_and_has_the_counts():
    text = repr(graph_of({AB: [[0, 1], [0, 1]]}, features={"a": np.ones((3, 4))}))
    assert all(part in text for part in ("a: 3 nodes, 4 features", "b: 2 nodes, no features", "a -r-> b: 2 edges"))
    types = {f"t{i}": 1 for i in range(40)}
    many = HeteroGraph.build(types, {(f"t{i}", f"r{i}", f"t{i + 1}"): [[0], [0]] for i in range(39)})
    assert len(repr(many).splitlines()) <= 15
    assert "40 node types, 39 relations" in repr(many)
    assert "... 69 more" in repr(many)
