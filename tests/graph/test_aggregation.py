"""How a relation carries messages: every normalisation, with and without a node's own state."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.aggregation import equal, normalised, propagation_of
from diffmg.graph.network import HeteroGraph
from small_networks import small_world
from worlds import World, worlds

KINDS = ["paper", "mean", "symmetric", "sum"]
EVERY = list(product(KINDS, [True, False]))
AB, BB = Relation("a", "ab", "b"), Relation("b", "bb", "b")

some_matrix = st.builds(
    lambda rows, columns, seed: sp.random(rows, columns, 0.4, format="csr", random_state=seed),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 99),
)


def dense(graph: HeteroGraph, relation: Relation) -> np.ndarray:
    """What a relation does to all nodes of source and target type: (target rows, target columns and source columns)."""
    propagation = graph.propagation[relation]
    matrix = propagation.matrix.forward.to_dense().double().numpy()
    if propagation.keep is None:
        return matrix
    return np.concatenate([np.diag(propagation.keep.double().numpy().ravel()), matrix], axis=1)


@given(worlds(), st.sampled_from(EVERY))
def test_every_way_of_aggregating_is_that_of_the_dense_matrix(world, way):
    aggregate, self_loops = way
    graph = world.graph().aggregated(aggregate, self_loops=self_loops)
    settings = Settings(aggregate=aggregate, self_loops=self_loops)
    for relation in world.schema.relations:
        whole = oracle.propagation(world, relation, settings).numpy()[oracle.rows_of(world, relation.target)]
        types = [relation.target] if relation.source == relation.target else [relation.target, relation.source]
        wanted = np.concatenate([whole[:, oracle.rows_of(world, t)] for t in types], axis=1)
        np.testing.assert_allclose(dense(graph, relation), wanted, rtol=1e-6, atol=1e-7)


@given(some_matrix)
def test_with_self_loops_a_mean_and_its_own_share_sum_to_one(matrix):
    neighbours, share = normalised(matrix, "mean", self_loops=True)
    np.testing.assert_allclose(neighbours.toarray().sum(axis=1) + share, 1)
    np.testing.assert_allclose(neighbours.toarray() / share[:, None], matrix.toarray())


@given(some_matrix)
def test_without_self_loops_a_mean_sums_to_one_where_there_are_neighbours(matrix):
    neighbours, share = normalised(matrix, "mean", self_loops=False)
    np.testing.assert_allclose(neighbours.toarray().sum(axis=1), matrix.toarray().sum(axis=1) > 0)
    assert not share.any()


@given(some_matrix, st.booleans())
def test_symmetric_is_the_same_from_both_ends(matrix, self_loops):
    """As many at one end as at the other: reversed, it is the transpose."""
    there, back = (normalised(m, "symmetric", self_loops=self_loops)[0] for m in (matrix, matrix.T.tocsr()))
    np.testing.assert_allclose(there.toarray(), back.toarray().T)
    assert np.linalg.norm(there.toarray(), 2) <= 1 + 1e-9


@given(some_matrix)
def test_a_sum_leaves_the_weights_alone(matrix):
    neighbours, share = normalised(matrix, "sum", self_loops=True)
    np.testing.assert_array_equal(neighbours.toarray(), matrix.toarray())
    np.testing.assert_array_equal(share, 1)


def test_the_degrees_of_a_star_by_hand():
    """b0 has neighbours a0 and a1, and a0 is a neighbour of b1 too."""
    matrix = sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 0.0]]))
    by_hand = {
        ("mean", False): ([[1 / 2, 1 / 2], [1, 0]], [0, 0]),
        ("mean", True): ([[1 / 3, 1 / 3], [1 / 2, 0]], [1 / 3, 1 / 2]),
        ("symmetric", False): ([[1 / 2, 2**-0.5], [2**-0.5, 0]], [0, 0]),
        ("symmetric", True): ([[1 / 3, 6**-0.5], [6**-0.5, 0]], [1 / 3, 1 / 2]),
    }
    for (aggregate, self_loops), (neighbours, share) in by_hand.items():
        got = normalised(matrix, aggregate, self_loops=self_loops)
        np.testing.assert_allclose(got[0].toarray(), neighbours)
        np.testing.assert_allclose(got[1], share)


@pytest.mark.parametrize(("aggregate", "self_loops"), EVERY)
@pytest.mark.parametrize("relation", [AB, BB], ids=str)
def test_a_node_without_neighbours_keeps_itself_or_hears_nothing(relation, aggregate, self_loops):
    propagation = propagation_of(relation, sp.csr_matrix((2, 2)), aggregate, self_loops=self_loops)
    matrix, own = propagation.matrix.forward.to_dense(), torch.eye(2) * self_loops
    if relation is AB:
        assert not matrix.any()
        assert torch.equal(propagation.keep, own.diagonal().unsqueeze(1))
    else:
        assert torch.equal(matrix, own)
        assert propagation.keep is None


def test_the_papers_aggregation_is_the_network_itself():
    graph = small_world().graph()
    assert graph.aggregated("paper", self_loops=True) is graph


def test_another_aggregation_is_made_once_and_kept_as_long_as_the_network():
    graph = small_world().graph().to(dtype=torch.float64)
    first = graph.aggregated("sum", self_loops=False)
    assert first is graph.aggregated("sum", self_loops=False)
    assert first is not graph.aggregated("sum", self_loops=True)
    assert first is not small_world().graph().aggregated("sum", self_loops=False)
    assert {p.matrix.forward.dtype for p in first.propagation.values()} == {torch.float64}
    assert first.features is graph.features
    assert first.engine is graph.engine


@given(worlds())
def test_counts_are_logarithms_of_numbers_of_neighbours(world):
    """Edges given twice count once; the weights of a relation that has some are added up beside."""
    graph = world.graph()
    for node_type in world.schema.node_types:
        if any(r.target == node_type for r in world.schema.relations):
            wanted = oracle.log_counts(world, node_type).float()
            torch.testing.assert_close(graph.log_counts(node_type), wanted)
            assert graph.log_counts(node_type) is graph.log_counts(node_type)


def test_total_weights_are_beside_the_counts_of_relations_that_have_weights():
    graph = small_world().graph()
    weighted = [r for r in graph.schema.into("b") if r in small_world().weights]
    assert graph.counted("b") == (*graph.schema.into("b"), *weighted)
    totals = graph.log_counts("b")[:, -len(weighted) :].expm1()
    for column, relation in enumerate(weighted):
        wanted = torch.from_numpy(graph.adjacency[relation].toarray().sum(axis=1)).float()
        torch.testing.assert_close(totals[:, column], wanted)


def test_zeros_are_of_the_networks_precision():
    zeros = small_world().graph().to(dtype=torch.float64).zeros("c", 3)
    assert torch.equal(zeros, torch.zeros(4, 3, dtype=torch.float64))


def test_equal_ignores_edges_of_weight_zero_and_rounding():
    one = sp.csr_matrix(np.array([[0.1 + 0.2, 0.0], [0.0, 1.0]]))
    with_zero = sp.csr_matrix((np.array([0.3, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])))
    assert equal(one, with_zero)
    assert with_zero.nnz == 3, "what is given is left as it is"
    assert not equal(one, one * 2)
    assert not equal(one, sp.csr_matrix((2, 3)))
    assert not equal(one, sp.csr_matrix(np.array([[0.0, 0.3], [1.0, 0.0]])))


def test_a_directed_relation_within_one_type_is_averaged():
    """Citations: b0 and b1 are cited by b2; the mean over neighbours and the node itself."""
    graph = World({"b": 3}, {BB: np.array([[0, 1], [2, 2]])}).graph()
    wanted = np.array([[1, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(dense(graph, BB), wanted, rtol=1e-6)
