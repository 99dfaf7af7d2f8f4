from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.datasets import load_dataset
from diffmg.graph.fingerprint import canonical_order, graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tables import export_tables, read_graph, read_problem
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from worlds import worlds

PARTS = ("train", "val", "test")
SMALL = HeteroGraph.build({"a": 4, "b": 2}, {("a", "r", "b"): [[0, 1, 2], [0, 1, 1]]}, reverse=True)


def dense(features: torch.Tensor | FixedMatrix) -> torch.Tensor:
    return features.forward.to_dense() if isinstance(features, FixedMatrix) else features


def assert_equal(one: HeteroGraph, other: HeteroGraph) -> None:
    assert one.schema == other.schema
    assert one.num_nodes == other.num_nodes
    for relation, matrix in one.adjacency.items():
        for mine, theirs in zip((matrix.indptr, matrix.indices, matrix.data), _parts(other, relation), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert one.features.keys() == other.features.keys()
    for node_type in one.schema.node_types:
        assert one.ids_of(node_type).tolist() == other.ids_of(node_type).tolist()
    for node_type, features in one.features.items():
        assert type(features) is type(other.features[node_type])
        assert torch.equal(dense(features), dense(other.features[node_type]))


def _parts(graph: HeteroGraph, relation: Relation) -> tuple[np.ndarray, ...]:
    matrix = graph.adjacency[relation]
    return matrix.indptr, matrix.indices, matrix.data


def test_classification_comes_back(tmp_path):
    problem = load_dataset("academic:400")
    path = export_tables(problem, tmp_path / "academic")
    assert path == tmp_path / "academic" / "network.toml"
    again = read_problem(path)
    assert_equal(problem.graph, again.graph)
    assert torch.equal(problem.task.labels, again.task.labels)
    assert (problem.task.classes, problem.task.metric) == (again.task.classes, again.task.metric)
    for part in PARTS:
        assert sorted(problem.task.parts[part].tolist()) == again.task.parts[part].tolist()


def test_recommendation_comes_back(tmp_path):
    problem = load_dataset("shop:400")
    again = read_problem(export_tables(problem, tmp_path / "shop"))
    assert_equal(problem.graph, again.graph)
    assert problem.task.digests({}) == again.task.digests({})


@settings(max_examples=20)
@given(worlds())
def test_any_network_comes_back(tmp_path_factory, world):
    graph = world.graph()
    assert_equal(graph, read_graph(export_tables(graph, tmp_path_factory.mktemp("any") / "it")))


def test_ids_and_sparse_features_come_back(tmp_path):
    edges = {("a b", "r", "a/b"): [[0, 1], [0, 0]], ("a/b", "r", "a b"): [[0], [1]]}
    ids = {"a b": ["x", "yé", "z"], "a/b": [30, 20]}
    features = {"a b": sp.csr_matrix([[0, 1.5, 0], [0, 0, 0], [2, 0, 0]])}
    graph = HeteroGraph.build({"a b": 3, "a/b": 2}, edges, features, ids=ids, weights={("a b", "r", "a/b"): [0.1, 2]})
    again = read_graph(export_tables(graph, tmp_path / "it"))
    assert again.ids["a/b"].tolist() == [20, 30]
    assert_equal(graph.permuted(canonical_order(graph)), again)
    assert graph_digests(graph) == graph_digests(again)


@pytest.mark.parametrize("classes", [("z", "b"), (7, 3), (True, False), (0.5, 0.25)])
def test_classes_keep_their_order(tmp_path, classes):
    task = NodeClassification.build("a", [0, 1, -1, 1], train=[0, 1], val=[3], classes=classes, metric="accuracy")
    again = read_problem(export_tables(Problem(SMALL, task), tmp_path / "it")).task
    assert again.classes == classes
    assert (again.labels.tolist(), again.metric) == ([0, 1, -1, 1], "accuracy")


def test_classes_of_several_types_become_text(tmp_path):
    task = NodeClassification.build("a", [0, 1, -1, 1], train=[0, 1], val=[3], classes=(1, "x"))
    assert read_problem(export_tables(Problem(SMALL, task), tmp_path / "it")).task.classes == ("1", "x")


def test_several_labels_a_node_come_back(tmp_path):
    labels = [[0, 1], [1, 1], [1, 0], [-1, -1]]
    task = NodeClassification.build("a", labels, train=[0, 1], val=[2], classes=["x", "y"])
    again = read_problem(export_tables(Problem(SMALL, task), tmp_path / "it")).task
    assert (again.labels.tolist(), again.classes, again.multilabel) == (labels, ("x", "y"), True)


def rated(**more) -> Recommendation:
    pairs = {"train": [[0, 1]], "val": [[1, 0]]}, {"train": [[2, 0]], "val": [[3, 1]]}
    return Recommendation.build("a", "b", (4, 2), *pairs, **more)


def test_settings_of_a_recommendation_come_back(tmp_path):
    task = rated(seen=[[0, 0], [1, 1], [2, 1]], metric="average_precision", k=3)
    again = read_problem(export_tables(Problem(SMALL, task), tmp_path / "it")).task
    assert (again.metric, again.k, again.seen.nnz) == ("average_precision", 3, 3)
    assert again.digests({}) == task.digests({})


def test_weights_of_a_recommendation_come_back(tmp_path):
    edges = {("a", "r", "b"): [[0, 1], [0, 1]]}
    graph = HeteroGraph.build({"a": 4, "b": 2}, edges, weights={("a", "r", "b"): [0.5, 2]}, reverse=True)
    problem = Problem(graph, rated(seen=[[0, 0], [1, 1]]))
    assert_equal(graph, read_problem(export_tables(problem, tmp_path / "it")).graph)


def test_seen_pairs_that_are_no_relation(tmp_path):
    with pytest.raises(DiffmgError, match="an export needs a relation from 'a' to 'b'"):
        export_tables(Problem(SMALL, rated()), tmp_path / "it")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(DiffmgError, match=f"an export needs a new or empty folder, but got '{tmp_path}'"):
        export_tables(SMALL, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_folder_will_do(tmp_path):
    (tmp_path / "it").mkdir()
    assert_equal(SMALL, read_graph(export_tables(SMALL, str(tmp_path / "it"))))


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("diffmg.tables.export.write_description", full)
    with pytest.raises(DiffmgError, match=r"could not write '.*it': No space left on"):
        export_tables(SMALL, tmp_path / "it")
    assert list(Path(tmp_path).iterdir()) == []
