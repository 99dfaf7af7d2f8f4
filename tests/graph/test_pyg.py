from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.graph.pyg import from_pyg, to_pyg
from diffmg.graph.sparse import FixedMatrix
from worlds import worlds

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.data import HeteroData

AB = Relation("a", "r", "b")


def dense(features: torch.Tensor | FixedMatrix) -> torch.Tensor:
    return features.forward.to_dense() if isinstance(features, FixedMatrix) else features


def small(**edge: torch.Tensor) -> HeteroData:
    """Three nodes of type a, two of type b, two edges."""
    data = HeteroData()
    data["a"].x = torch.arange(6.0).reshape(3, 2)
    data["b"].num_nodes = 2
    data["a", "r", "b"].edge_index = torch.tensor([[2, 0], [1, 1]])
    for name, value in edge.items():
        data["a", "r", "b"][name] = value
    return data


@settings(max_examples=25)
@given(worlds())
def test_round_trip(world):
    graph = world.graph()
    again = from_pyg(to_pyg(graph))
    assert again.schema == graph.schema
    assert again.num_nodes == graph.num_nodes
    assert again.features.keys() == graph.features.keys()
    for node_type, features in graph.features.items():
        assert torch.equal(dense(again.features[node_type]), dense(features))
        assert isinstance(again.features[node_type], FixedMatrix) == isinstance(features, FixedMatrix)
    for relation, matrix in graph.adjacency.items():
        np.testing.assert_array_equal(again.adjacency[relation].toarray(), matrix.toarray())


def test_reads_features_edges_and_sizes():
    graph = from_pyg(small())
    assert graph.num_nodes == {"a": 3, "b": 2}
    assert graph.edge_index(AB).tolist() == [[0, 2], [1, 1]]
    assert graph.features["a"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert "b" not in graph.features


@pytest.mark.parametrize("name", ["edge_weight", "edge_attr"])
@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_one_column_of_edge_data_is_the_weight(name, shape):
    graph = from_pyg(small(**{name: torch.tensor([0.5, 3.0]).reshape(shape)}))
    assert graph.adjacency[AB].toarray().tolist() == [[0, 0, 0], [3.0, 0, 0.5]]


def test_several_columns_of_edge_attributes_are_no_weight():
    graph = from_pyg(small(edge_attr=torch.full((2, 3), 7.0)))
    assert graph.adjacency[AB].data.tolist() == [1, 1]


def test_edge_weight_of_the_wrong_length_is_an_error():
    with pytest.raises(DiffmgError, match="needs 2 edge weights"):
        from_pyg(small(edge_weight=torch.ones(3)))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_features_stay_sparse(layout):
    data = small()
    x = torch.eye(3)
    data["a"].x = x.to_sparse_coo() if layout == "coo" else x.to_sparse_csr()
    features = from_pyg(data).features["a"]
    assert isinstance(features, FixedMatrix)
    assert torch.equal(dense(features), x)


def test_reverse_is_passed_on():
    assert from_pyg(small(), reverse=True).schema.relations == (AB, Relation("b", "rev_r", "a"))


def test_weights_of_one_are_not_written():
    graph = HeteroGraph.build({"a": 2, "b": 2}, {AB: [[0, 1], [0, 1]]}, {"a": sp.eye(2)})
    assert "edge_weight" not in to_pyg(graph)["a", "r", "b"]


@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_node_type_without_a_size():
    data = small()
    data["c"].colour = "red"
    with pytest.raises(DiffmgError, match="node type 'c' must say its number of nodes"):
        from_pyg(data)


def test_relation_without_edges():
    data = small()
    data["b", "s", "a"].edge_attr = torch.ones(2)
    with pytest.raises(DiffmgError, match=r"but got \['edge_attr'\]"):
        from_pyg(data)


def test_bad_data_is_refused_as_anywhere():
    data = small()
    data["a", "r", "b"].edge_index = torch.tensor([[0], [2]])
    with pytest.raises(DiffmgError, match="`0 <= b < 2` must hold, but got 2"):
        from_pyg(data)


def test_without_pyg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    graph = HeteroGraph.build({"a": 2}, {("a", "knows", "a"): [[0], [1]]})
    with pytest.raises(DiffmgError, match=r"diffmg\[pyg\]"):
        graph.to_pyg()
