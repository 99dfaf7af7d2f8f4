from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.fingerprint import graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.tables.building import build_network
from diffmg.tables.cells import cells_of, one_row_each
from diffmg.tables.description import Description, NodeTable, RelationTable, description_from_dict, description_to_dict
from diffmg.tables.reading import as_table

IN = ("film", "in", "genre")
FILMS = {"film": ["f1", "f2", "f3", "f4"], "genres": ["action|comedy", "drama", None, "drama | action|drama"]}
WANTED = {("f1", "action"), ("f1", "comedy"), ("f2", "drama"), ("f4", "drama"), ("f4", "action")}


def edges(graph: HeteroGraph, relation: tuple[str, str, str] = IN) -> set[tuple[Any, Any]]:
    source, target = graph.edge_index(Relation(*relation))
    ends = graph.ids_of(relation[0])[source], graph.ids_of(relation[2])[target]
    return set(zip(*(e.tolist() for e in ends), strict=True))


def described(**options: Any) -> Description:
    link = RelationTable("films", ("film", "film"), ("genre", "genres"), **options)
    return Description({"film": NodeTable("films"), "genre": NodeTable()}, {"in": link})


def lists(make: Any) -> dict[str, Any]:
    cells = [None if g is None else [v.strip() for v in g.split("|")] for g in FILMS["genres"]]
    return FILMS | {"genres": [None if cell is None else make(cell) for cell in cells]}


@pytest.mark.parametrize(
    ("films", "split"), [(FILMS, "|"), (lists(list), None), (lists(json.dumps), "json"), (lists(";".join), ";")]
)
def test_one_edge_for_each_value_of_a_cell(films, split):
    graph = build_network(described(split=split), {"films": as_table(films, "films")}).graph({})
    assert graph.ids["genre"].tolist() == ["action", "comedy", "drama"]
    assert edges(graph) == WANTED
    assert "film" not in graph.features, "what is a relation is no feature"
    assert "relation in: 1 rows that name no genre, left out" in graph.notes
    assert "relation in: 1 rows repeat an edge, counted once" in graph.notes


def test_a_split_is_written_and_read():
    given = described(split="|", where={"kind": "long"})
    assert description_from_dict(description_to_dict(given)) == given


def test_weights_and_columns_of_edges_are_those_of_their_rows():
    films = FILMS | {"weight": [1.0, 2.0, 3.0, 4.0]}
    network = build_network(described(split="|", weight="weight"), {"films": as_table(films, "films")})
    found = network.found["in"]
    names = network.ids["film"].to_pylist()
    assert {(names[s], w) for s, w in zip(found.index[0], found.weight, strict=True)} == {
        ("f1", 1),
        ("f2", 2),
        ("f4", 4),
    }
    assert network.edge_column("in", "film").to_pylist() == [names[s] for s in found.index[0]]


def test_several_ids_in_a_cell_find_the_nodes_of_a_table():
    """Whole numbers stay numbers."""
    films = {"film": ["f1", "f2"], "actors": ["7,5", "5"]}
    graph = HeteroGraph.from_tables(
        {"film": {"film": ["f1", "f2"]}, "actor": {"id": [5, 7]}},
        {("film", "with", "actor"): films},
        split={("film", "with", "actor"): ","},
    )
    assert edges(graph, ("film", "with", "actor")) == {("f1", 7), ("f1", 5), ("f2", 5)}
    with pytest.raises(DiffmgError, match=r"edges must lead to known nodes.*such as \[6\]"):
        HeteroGraph.from_tables(
            {"film": None, "actor": {"id": [5, 7]}},
            {("film", "with", "actor"): films | {"actors": ["7,6", "5"]}},
            split={("film", "with", "actor"): ","},
        )


def test_lists_of_frames_are_split_without_being_told():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    films = polars.DataFrame({"film": ["f1", "f2"], "genres": [["a", "b"], ["b"]]})
    graph = HeteroGraph.from_tables({"film": None, "genre": None}, {IN: films})
    plain = {"film": ["f1", "f1", "f2"], "genres": ["a", "b", "b"]}
    assert graph_digests(graph) == graph_digests(HeteroGraph.from_tables({"film": None, "genre": None}, {IN: plain}))


def test_only_rows_with_a_value_are_edges_or_nodes():
    things = {"id": ["a", "b", "c", "d"], "kind": ["x", "y", "x", None], "size": [1, 2, 4, 8]}
    links = {"from": ["a", "c", "a"], "to": ["b", "b", "c"], "how": ["eats", "eats", "sees"]}
    nodes = {kind: NodeTable("things", ("id",), where={"kind": kind}) for kind in ("x", "y")}
    link = RelationTable("links", ("x", "from"), ("y", "to"), where={"how": "eats"})
    network = build_network(
        Description(nodes, {"eats": link}), {"things": as_table(things, "it"), "links": as_table(links, "it")}
    )
    graph = network.graph({})
    assert {t: graph.ids[t].tolist() for t in ("x", "y")} == {"x": ["a", "c"], "y": ["b"]}
    assert network.node_column("x", "size").to_pylist() == [1, 4]
    assert edges(graph, ("x", "eats", "y")) == {("a", "b"), ("c", "b")}


@given(st.lists(st.none() | st.lists(st.sampled_from(["a", "b", " c ", "", "12"]), max_size=4), max_size=20))
def test_one_row_each_is_what_a_loop_finds(cells):
    column = pa.chunked_array([pa.array([None if c is None else "|".join(c) for c in cells], pa.string())])
    wanted = [(v.strip(), i) for i, c in enumerate(cells) for v in c or () if v.strip()]
    values, rows = one_row_each(column, "|", "it")
    found = [(str(v), i) for v, i in zip(values.to_pylist(), rows.tolist(), strict=True) if v is not None]
    assert found == wanted
    assert np.array_equal(np.unique(rows), np.arange(len(cells))), "every row is there, if only as a missing value"


@pytest.mark.parametrize(
    ("values", "separator", "message"),
    [
        (["[1, 2]", "[1"], "json", "must be JSON lists of texts or numbers, but got '\\[1'"),
        (["[[1]]"], "json", "must be JSON lists of texts or numbers, but got"),
        ([0.5], "|", "must be texts or lists to be split, but got double"),
    ],
)
def test_cells_that_cannot_be_split(values, separator, message):
    with pytest.raises(DiffmgError, match=message):
        cells_of(pa.chunked_array([pa.array(values)]), separator, "it")


@pytest.mark.parametrize(
    ("options", "message"), [({"split": ""}, "`split` is a text between the ids"), ({"split": 3}, "split")]
)
def test_wrong_settings(options, message):
    with pytest.raises(DiffmgError, match=message):
        described(**options)


def test_a_split_of_no_relation():
    with pytest.raises(DiffmgError, match="relation in `split`"):
        HeteroGraph.from_tables(
            {"film": None, "genre": None}, {IN: {"a": ["f"], "b": ["g"]}}, split={("film", "of", "genre"): "|"}
        )
