from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.graph.fingerprint import graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.node_classification import NodeClassification
from diffmg.tasks.regression import NodeRegression

IDS = [f"a{i}" for i in range(12)]
FIELDS = [("art", "bio")[i % 2] for i in range(12)]
WROTE = {"author": IDS, "paper": [i % 5 for i in range(12)]}


def graph() -> HeteroGraph:
    return HeteroGraph.from_tables({"author": {"id": IDS}, "paper": None}, {("author", "wrote", "paper"): WROTE})


def pandas(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(columns)


def polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(columns)


@pytest.mark.parametrize("make", [pandas, polars, pa.table, dict], ids=lambda make: make.__name__)
@given(order=st.permutations(range(12)))
def test_labels_find_their_nodes_in_any_order(make, order):
    frame = make({"who": [IDS[i] for i in order], "field": [FIELDS[i] for i in order]})
    task = NodeClassification.from_frame(graph(), "author", frame)
    wanted = NodeClassification.from_column("author", FIELDS, ids=IDS)
    assert task.classes == wanted.classes == ("art", "bio")
    assert task.labels.tolist() == wanted.labels.tolist() == [i % 2 for i in range(12)]
    assert all(task.parts[p].tolist() == wanted.parts[p].tolist() for p in ("train", "val", "test"))


def test_nodes_without_a_row_have_no_label():
    task = NodeClassification.from_frame(graph(), "author", {"author": IDS[:10][::-1], "field": FIELDS[:10][::-1]})
    assert task.labels.tolist() == [0, 1] * 5 + [-1, -1]


def test_a_split_by_name():
    split = ["train", "train", "val", "val", "test", "test", *["train"] * 6]
    frame = {"label": FIELDS[::-1], "id": IDS[::-1], "part": split[::-1], "note": IDS}
    task = NodeClassification.from_frame(graph(), "author", frame, label="label", split="part", metric="accuracy")
    assert task.parts["val"].tolist() == [2, 3]
    assert task.metric == "accuracy"


@given(order=st.permutations(range(12)))
def test_numbers_find_their_nodes_in_any_order(order):
    numbers = np.arange(12) / 10
    frame = {"id": [IDS[i] for i in order], "h": numbers[list(order)], "w": -numbers[list(order)]}
    task = NodeRegression.from_frame(graph(), "author", frame, label=["h", "w"])
    assert task.names == ("h", "w")
    assert task.values.tolist() == np.stack([numbers, -numbers], axis=1).tolist()
    one = NodeRegression.from_frame(graph(), "author", {"id": frame["id"], "h": frame["h"]})
    assert (one.names, one.values[:, 0].tolist()) == (("h",), numbers.tolist())


@given(order=st.permutations(range(12)))
def test_features_find_their_nodes_in_any_order(order):
    ages = [20 + i * i for i in range(12)]
    frame = {"age": [ages[i] for i in order], "author": [IDS[i] for i in order]}
    found = graph().with_features("author", frame)
    wanted = HeteroGraph.from_tables(
        {"author": {"id": IDS, "age": ages}, "paper": None}, {("author", "wrote", "paper"): WROTE}
    )
    assert found.features["author"].tolist() == wanted.features["author"].tolist()
    assert graph_digests(found) == graph_digests(wanted)
    assert found.encoders["author"] == wanted.encoders["author"]
    assert found.notes == wanted.notes


LABELS = {"id": IDS, "field": FIELDS}


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            LABELS | {"id": ["a0", *IDS[:11]]},
            {},
            r"ids of the labels must be unique, but got 1 more than once.*\['a0'\]",
        ),
        (LABELS | {"id": [None, *IDS[1:]]}, {}, "every row of the labels needs an id, but got 1 without one in 'id'"),
        (LABELS | {"id": ["zz", *IDS[1:]]}, {}, r"every id must be one of the 'author' nodes.*\['zz'\]"),
        (LABELS | {"id": [*range(12)]}, {}, "every id must be one of the 'author' nodes of the network"),
        (
            LABELS | {"more": FIELDS},
            {},
            r"the label must be the one column beside the ids, but got \['field', 'more'\]",
        ),
        (LABELS, {"label": "fild"}, "unknown column of the labels: 'fild'.*field"),
        (LABELS, {"id_column": "who"}, "unknown column of the labels: 'who'"),
        (LABELS, {"label": "field", "split": "part"}, "unknown column of the labels: 'part'"),
        ([1, 2], {}, "the table of the labels must speak Arrow"),
    ],
)
def test_frames_that_do_not_fit(frame, options, message):
    for kind in (NodeClassification, NodeRegression):
        with pytest.raises(DiffmgError, match=message):
            kind.from_frame(graph(), "author", frame, **options)


def test_features_that_do_not_fit():
    with pytest.raises(DiffmgError, match=r"needs a row of features, but got none for 1: \['a11'\]"):
        graph().with_features("author", {"id": IDS[:11], "age": [*range(11)]})
    with pytest.raises(DiffmgError, match="must be columns that can be used, but got"):
        graph().with_features("author", {"id": IDS, "name": [b"x"] * 12})
    with pytest.raises(DiffmgError, match="unknown node type 'autor'"):
        graph().with_features("autor", {"id": IDS})
