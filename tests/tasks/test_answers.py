from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import diffmg.tasks.answers as module
from diffmg.graph.network import HeteroGraph
from diffmg.tables.reading import key_column
from diffmg.tasks import NodeClassification
from diffmg.tasks.answers import SHOWN, Answers, free_names, inverse, split_ids
from diffmg.tasks.two_ends import table_of

ANSWERS = Answers(
    {
        "author": np.array(["ann", 'b"o,b', "çid"]),
        "rank": np.array([1, 2, 3]),
        "class": np.array(["x y", "", "y"], dtype=object),
        "p(x)": np.array([0.25, 1.0, 1e-9], np.float32),
    }
)
NAMES = ("rank", "rank_", "rank__", "score", "p(x)")
ROWS = [("ann", 1, "x y", 0.25), ('b"o,b', 2, "", 1.0), ("çid", 3, "y", pytest.approx(1e-9))]


def test_columns_rows_and_length():
    assert len(ANSWERS) == 3
    assert ANSWERS["rank"].tolist() == [1, 2, 3]
    assert list(ANSWERS.rows()) == ROWS


def test_arrow():
    table = ANSWERS.to_arrow()
    assert [str(field.type) for field in table.schema] == ["string", "int64", "string", "double"]
    assert list(zip(*(c.to_pylist() for c in table.columns), strict=True)) == ROWS
    assert pa.table(ANSWERS).equals(table)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    frame = getattr(ANSWERS, f"to_{library}")()
    assert isinstance(frame, frames.DataFrame)
    assert list(frame.columns) == list(ANSWERS.columns)
    rows = frame.rows() if library == "polars" else frame.itertuples(index=False, name=None)
    assert list(rows) == ROWS


@pytest.mark.parametrize(
    ("installed", "wanted"), [(("pandas", "polars"), "pandas"), (("polars",), "polars"), ((), "pyarrow")]
)
def test_the_frame_is_of_the_first_library_that_is_installed(installed, wanted, monkeypatch):
    for library in installed:
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.setattr(module, "find_spec", lambda name: name if name in installed else None)
    assert type(ANSWERS.to_frame()).__module__.partition(".")[0] == wanted


def test_csv_is_quoted_where_it_must_be():
    text = ANSWERS.to_csv()
    assert list(csv.reader(io.StringIO(text))) == [
        ["author", "rank", "class", "p(x)"],
        ["ann", "1", "x y", "0.250000"],
        ['b"o,b', "2", "", "1.000000"],
        ["çid", "3", "y", "0.000000"],
    ]
    assert text.count("\n") == 4
    assert "\r" not in text


def test_no_rows():
    none = Answers({"a": np.empty(0, np.int64), "b": np.empty(0)})
    assert (len(none), list(none.rows()), none.to_csv()) == (0, [], "a,b\n")
    assert none.to_arrow().num_rows == 0


def test_the_text_is_short_and_says_how_many_rows_there_are():
    assert repr(ANSWERS).splitlines() == ANSWERS.to_csv().splitlines()
    lines = repr(Answers({"n": np.arange(1000)})).splitlines()
    assert len(lines) <= 15
    assert lines[: SHOWN + 1] == ["n", *map(str, range(SHOWN))]
    assert "1000 rows" in lines[-1]


@given(st.lists(st.sampled_from(NAMES), max_size=6), st.sets(st.sampled_from(NAMES)))
def test_names_of_columns_are_all_different_and_only_those_taken_change(names, taken):
    found = free_names(names, taken)
    assert len({*found, *taken}) == len(found) + len(taken)
    for place, (name, free) in enumerate(zip(names, found, strict=True)):
        assert free.rstrip("_") == name.rstrip("_")
        assert (free == name) == (name not in taken and name not in names[:place])


@pytest.mark.parametrize(("target", "head"), [("class", "class_"), ("p(b)", "class"), ("author", "class")])
def test_the_ids_of_any_type_stand_beside_its_classes(target, head):
    graph = HeteroGraph.build({target: 3}, {(target, "knows", target): [[0], [1]]})
    task = NodeClassification.build(target, [0, 1, 0], classes=["a", "b"], train=[0, 1], val=[2])
    logits = torch.tensor([[1.0, 0], [0, 1], [2, 0]])
    found = task.answers((logits,), graph)
    assert found[target].tolist() == [0, 1, 2]
    assert found[head].tolist() == ["a", "b", "a"]
    assert [column.tolist() for column in list(found.columns.values())[2:]] == torch.softmax(logits, 1).T.tolist()


@pytest.mark.parametrize(("user", "item"), [("rank", "score"), ("score", "rank_"), ("rank", "rank_"), ("user", "item")])
def test_the_ids_of_any_types_stand_beside_ranks_and_scores(user, item):
    graph = HeteroGraph.build({user: 2, item: 3}, {(user, "likes", item): [[0], [0]]}, ids={item: ["x", "y", "z"]})
    users, items = np.array([0, 1]), np.array([[2, 1], [0, 1]])
    found = table_of(graph, (user, item), users, items, np.array([[9, 8], [7, -np.inf]], np.float32))
    assert list(found.columns) == [
        user,
        *free_names(["rank"], (user, item)),
        item,
        *free_names(["score"], (user, item)),
    ]
    assert [*found.rows()] == [(0, 1, "z", 9.0), (0, 2, "y", 8.0), (1, 1, "x", 7.0)]


def test_the_inverse_of_an_order():
    order = np.array([2, 0, 3, 1])
    assert inverse(order).tolist() == np.argsort(order).tolist()


@given(st.lists(st.lists(st.text("ab/\\ \n", max_size=4), min_size=3, max_size=3), max_size=5))
def test_joined_ids_are_split_into_their_columns(rows: list[list[str]]) -> None:
    table = pa.table({name: pa.array([row[n] for row in rows], pa.string()) for n, name in enumerate("abc")})
    joined = key_column(table, "abc", "a table").to_pylist()
    assert [column.tolist() for column in split_ids(joined, 3)] == [[row[place] for row in rows] for place in range(3)]
    assert split_ids(joined, 0) == []
