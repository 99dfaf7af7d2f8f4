from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg import MetaGraphClassifier, MetaGraphRecommender, NodeRegressor
from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search.features import FeaturesOnly
from diffmg.runs.model import Model
from diffmg.runs.vectors import Vectors, similar_to
from diffmg.tasks.problem import Problem

QUICK = {"dim": 8, "max_epochs": 2}
ESTIMATORS = {
    "classification": MetaGraphClassifier,
    "regression": NodeRegressor,
    "recommendation": MetaGraphRecommender,
}


def model_of(problem: Problem, method: object = None, **more: object) -> Model:
    estimator = ESTIMATORS[problem.task.kind](method=method or FeaturesOnly(), settings=QUICK, **more)
    return estimator.fit(problem).model_


def test_the_head_maps_the_vectors_to_the_outputs(classification: Problem, regression: Problem) -> None:
    for problem in (classification, regression):
        for method in (FeaturesOnly(), "gcn", "sehgnn"):
            model = model_of(problem, method)
            vectors = model.embed()
            assert vectors.node_type == "author"
            assert vectors.values.shape == (problem.graph.num_nodes["author"], 8)
            head = model.network.head
            assert torch.allclose(head(torch.from_numpy(vectors.values)), model.outputs[0], atol=1e-5)


def test_dot_products_of_the_vectors_are_the_scores_of_pairs(recommendation: Problem) -> None:
    model = model_of(recommendation)
    users, items = (model.embed(node_type=t) for t in ("user", "item"))
    assert model.embed().node_type == "item"
    answers = model.answers([3, 5], k=4)
    for user, item, score in zip(answers["user"], answers["item"], answers["score"], strict=True):
        assert users.values[user] @ items.values[item] == pytest.approx(score, rel=1e-5)


def test_an_ensembles_vectors_are_those_of_its_members_side_by_side(classification: Problem) -> None:
    model = model_of(classification, "gcn", budget=4)
    members = [member for member, w in zip(model.network.members, model.network.weights, strict=True) if w > 0]
    assert len(np.asarray(model.embed())[0]) == sum(member.head.weight.numel() // 4 for member in members)
    lengths = np.square(model.embed().values).sum(axis=1).mean()
    assert lengths == pytest.approx(1, rel=1e-4)


def test_vectors_of_some_nodes_in_the_order_asked_for(classification: Problem) -> None:
    model = model_of(classification)
    some = model.embed([5, 2])
    assert some.ids.tolist() == [5, 2]
    np.testing.assert_array_equal(some.values, model.embed().values[[5, 2]])
    with pytest.raises(DiffmgError, match="every id must be one of the 'author' nodes"):
        model.embed([10**6])
    with pytest.raises(DiffmgError, match="unknown target type 'papr'"):
        model.embed(node_type="papr")


def test_a_method_without_representations_is_refused(classification: Problem) -> None:
    with pytest.raises(DiffmgError, match="a representation before its head"):
        model_of(classification, "label_propagation").embed()


def nearest(vectors: np.ndarray, row: int, k: int) -> list[int]:
    """By a plain sort of cosines, computed one by one in double precision from whole numbers."""

    def cosine(other: int) -> float:
        lengths = np.sqrt(np.square(vectors[row]).sum() * np.square(vectors[other]).sum())
        return round(float(vectors[row] @ vectors[other] / lengths) if lengths else 0.0, 6)

    return sorted((o for o in range(len(vectors)) if o != row), key=lambda o: (-cosine(o), o))[:k]


@given(st.integers(0, 999), st.integers(1, 12), st.integers(1, 15))
def test_similar_nodes_equal_brute_force(seed: int, count: int, k: int) -> None:
    values = np.random.default_rng(seed).integers(-1, 2, (count, 3)).astype(np.float32)
    ids = np.array([f"n{n}" for n in range(count)])
    graph = HeteroGraph.build({"a": count}, {("a", "r", "a"): np.zeros((2, 1), np.int64)}, ids={"a": ids.tolist()})
    answers = similar_to(Vectors("a", ids, values), graph, None, k)
    for row in range(count):
        own = answers["a"] == ids[row]
        places, cosines = [int(name[1:]) for name in answers["similar"][own]], answers["cosine"][own]
        assert row not in places
        assert len(set(places)) == len(places) == min(k, count - 1)
        wanted = nearest(values, row, k)
        lengths = np.linalg.norm(values, axis=1)
        for place, want, cosine in zip(places, wanted, cosines, strict=True):
            product = lengths[row] * lengths[want]
            assert cosine == pytest.approx(values[row] @ values[want] / product if product else 0, abs=1e-6)
            assert place == want or cosine == pytest.approx(  # rounding may tell apart what is tied
                values[row] @ values[place] / max(lengths[row] * lengths[place], 1e-9), abs=1e-6
            )
        assert answers["rank"][own].tolist() == [*range(1, len(places) + 1)]


def test_equal_vectors_are_in_the_order_of_the_nodes() -> None:
    graph = HeteroGraph.build({"a": 6}, {("a", "r", "a"): np.zeros((2, 1), np.int64)})
    vectors = Vectors("a", np.arange(6), np.tile(np.array([[3.0, 4.0]], np.float32), (6, 1)))
    assert similar_to(vectors, graph, [4], 3)["similar"].tolist() == [0, 1, 2]
    with pytest.raises(DiffmgError, match="k=0"):
        similar_to(vectors, graph, [4], 0)


@pytest.mark.parametrize("name", ["rank", "similar", "cosine", "vector", "v1"])
def test_nodes_of_any_type_keep_their_ids(name: str, tmp_path: Path) -> None:
    graph = HeteroGraph.build({name: 2}, {(name, "r", name): np.zeros((2, 1), np.int64)}, ids={name: ["x", "y"]})
    vectors = Vectors(name, np.array(["x", "y"]), np.array([[1.0, 0.0], [1.0, 1.0]], np.float32))
    (row,) = similar_to(vectors, graph, ["y"], 1).rows()
    assert row == ("y", 1, "x", pytest.approx(0.5**0.5))
    assert [row[0] for row in vectors.answers().rows()] == ["x", "y"]
    assert len(vectors.answers().columns) == 3
    assert vectors.to_arrow().column(name).to_pylist() == ["x", "y"]
    vectors.write(tmp_path / "v.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [[*line.values()] for line in lines] == [["x", [1.0, 0.0]], ["y", [1.0, 1.0]]]


VECTORS = Vectors("film", np.array(["x", "=y,z"]), np.array([[0.5, -1.25, 3.0], [0.0, 1e-9, 2.0]], np.float32))


def test_files_of_vectors(tmp_path: Path) -> None:
    for ending in (".csv", ".parquet", ".jsonl", ".npy"):
        VECTORS.write(tmp_path / f"v{ending}")
    wanted = VECTORS.values.tolist()
    table = parquet.read_table(tmp_path / "v.parquet")
    assert (table.column("film").to_pylist(), table.column("vector").to_pylist()) == (["x", "=y,z"], wanted)
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert lines == [{"film": i, "vector": v} for i, v in zip(["x", "=y,z"], wanted, strict=True)]
    records = np.load(tmp_path / "v.npy", allow_pickle=False)
    assert (records["id"].tolist(), records["vector"].tolist()) == (["x", "=y,z"], wanted)
    head, *rows = csv.reader((tmp_path / "v.csv").read_text().splitlines())
    assert head == ["film", "v0", "v1", "v2"]
    np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in rows], wanted, rtol=1e-8)
    with pytest.raises(DiffmgError, match=r"unknown ending of a file of vectors: '.pkl'"):
        VECTORS.write(tmp_path / "v.pkl")
    assert np.asarray(VECTORS, np.float64).tolist() == wanted
