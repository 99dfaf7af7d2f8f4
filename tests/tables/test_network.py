from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.tables.building import build_network
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.reading import GUESSED, as_table

WROTE = Relation("author", "wrote", "paper")
BACK = Relation("paper", "rev_wrote", "author")
DESCRIPTION = Description(
    {"author": NodeTable("authors"), "paper": NodeTable("papers")},
    {"wrote": RelationTable("wrote", ("author", "who"), ("paper", "what"))},
)
TABLES = {
    "authors": {"id": ["ann", "bob", "cid"], "age": [20, 30, 40]},
    "papers": {"id": [7, 5], "year": [2000, 2010]},
    "wrote": {"who": ["bob", "ann", "bob"], "what": [5, 7, 7]},
}


def graph_of(description: Description = DESCRIPTION, guessed: tuple[str, ...] = (), **changed: Any) -> HeteroGraph:
    tables = {name: as_table(columns, name) for name, columns in (TABLES | changed).items()}
    tables |= {name: tables[name].replace_schema_metadata(GUESSED) for name in guessed}
    return build_network(description, tables).graph({})


def edges(graph: HeteroGraph, relation: Relation) -> set[tuple[Any, Any]]:
    """Edges by the ids of their ends."""
    source, target = graph.edge_index(relation)
    ends = graph.ids_of(relation.source)[source], graph.ids_of(relation.target)[target]
    return set(zip(*(e.tolist() for e in ends), strict=True))


def with_relation(relation: RelationTable, **nodes: NodeTable) -> Description:
    return replace(DESCRIPTION, nodes={**DESCRIPTION.nodes, **nodes}, relations={"wrote": relation})


def test_ids_are_mapped_and_kept_in_order():
    graph = graph_of()
    assert graph.ids["author"].tolist() == ["ann", "bob", "cid"]
    assert graph.ids["paper"].tolist() == [5, 7]
    assert edges(graph, WROTE) == {("bob", 5), ("ann", 7), ("bob", 7)}
    assert graph.index_of("author", ["cid", "ann"]).tolist() == [2, 0]


def test_the_reverse_is_added_where_asked_for():
    assert edges(graph_of(), BACK) == {(5, "bob"), (7, "ann"), (7, "bob")}
    one_way = replace(DESCRIPTION.relations["wrote"], both=False)
    assert graph_of(with_relation(one_way)).schema.relations == (WROTE,)


def test_the_reverse_of_a_directed_relation_within_a_type_is_added():
    cites = RelationTable("cites", ("paper", "a"), ("paper", "b"))
    graph = graph_of(replace(DESCRIPTION, relations={"cites": cites}), cites={"a": [7], "b": [5]})
    assert edges(graph, Relation("paper", "cites", "paper")) == {(7, 5)}
    assert edges(graph, Relation("paper", "rev_cites", "paper")) == {(5, 7)}


def test_a_reverse_that_is_there_is_not_added():
    back = RelationTable("wrote", ("paper", "what"), ("author", "who"))
    relations = {**DESCRIPTION.relations, "written_by": back}
    assert [r.name for r in graph_of(replace(DESCRIPTION, relations=relations)).schema.relations] == [
        "wrote",
        "written_by",
    ]


def test_relations_may_share_a_name_where_their_ends_differ():
    back = RelationTable("wrote", ("paper", "what"), ("author", "who"), both=False, name="wrote")
    relations = {"wrote": replace(DESCRIPTION.relations["wrote"], both=False), "back": back}
    graph = graph_of(replace(DESCRIPTION, relations=relations))
    assert graph.schema.relations == (WROTE, Relation("paper", "wrote", "author"))


def test_columns_that_are_not_keys_are_features():
    graph = graph_of()
    np.testing.assert_allclose(graph.features["author"].ravel(), np.array([-1, 0, 1]) / np.std([-1, 0, 1]), rtol=1e-6)
    assert graph.notes == ("author.age: number", "paper.year: number")


def test_a_foreign_key_is_no_feature():
    papers = {"id": [7, 5], "year": [2000, 2010], "author": ["ann", "cid"]}
    relation = RelationTable("papers", ("author", "author"), ("paper", "id"))
    graph = graph_of(with_relation(relation), papers=papers)
    assert edges(graph, WROTE) == {("ann", 7), ("cid", 5)}
    assert graph.features["paper"].shape == (2, 1)


def test_features_may_be_named():
    authors = {"id": ["ann", "bob", "cid"], "age": [20, 30, 40], "height": [1, 2, 3]}
    graph = graph_of(
        replace(DESCRIPTION, nodes={**DESCRIPTION.nodes, "author": NodeTable("authors", features=("age",))}),
        authors=authors,
    )
    assert graph.features["author"].shape == (3, 1)
    none = replace(DESCRIPTION, nodes={**DESCRIPTION.nodes, "author": NodeTable("authors", features=())})
    assert "author" not in graph_of(none).features


def test_numbers_may_be_taken_as_they_are():
    nodes = {**DESCRIPTION.nodes, "author": NodeTable("authors", encode="dense")}
    assert graph_of(replace(DESCRIPTION, nodes=nodes)).features["author"].tolist() == [[20], [30], [40]]


def test_weights():
    relation = replace(DESCRIPTION.relations["wrote"], weight="share")
    graph = graph_of(with_relation(relation), wrote={**TABLES["wrote"], "share": [1, 2, 3]})
    assert graph.adjacency[WROTE].toarray().tolist() == [[0, 1, 0], [2, 3, 0]]


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (["a", "b", "c"], "weights of relation 'wrote' must be numbers, but got string"),
        ([1, None, 3], "edge weights of 'author -wrote-> paper' must be finite and not negative, but got nan"),
        ([1, 2, -3], "must be finite and not negative, but got -3.0"),
    ],
)
def test_weights_that_are_none(share, message):
    relation = replace(DESCRIPTION.relations["wrote"], weight="share")
    with pytest.raises(DiffmgError, match=re.escape(message)):
        graph_of(with_relation(relation), wrote={**TABLES["wrote"], "share": share})


def test_unknown_columns_come_with_the_nearest():
    relation = RelationTable("wrote", ("author", "hwo"), ("paper", "what"))
    with pytest.raises(DiffmgError, match=r"did you mean 'who'\?"):
        graph_of(with_relation(relation))
    with pytest.raises(DiffmgError, match=r"did you mean 'weight'\?"):
        graph_of(
            with_relation(replace(DESCRIPTION.relations["wrote"], weight="wieght")),
            wrote={**TABLES["wrote"], "weight": [1, 1, 1]},
        )
    nodes = {**DESCRIPTION.nodes, "author": NodeTable("authors", ("di",))}
    with pytest.raises(DiffmgError, match=r"did you mean 'id'\?"):
        graph_of(replace(DESCRIPTION, nodes=nodes))
    nodes = {**DESCRIPTION.nodes, "author": NodeTable("authors", features=("aeg",))}
    with pytest.raises(DiffmgError, match=r"did you mean 'age'\?"):
        graph_of(replace(DESCRIPTION, nodes=nodes))


def test_ids_given_twice():
    with pytest.raises(DiffmgError, match=r"but got 2 more than once, such as \['ann',"):
        graph_of(authors={"id": ["ann", "bob", "ann", "bob", "cid"]})


def test_nodes_without_an_id():
    with pytest.raises(DiffmgError, match="but got 2 rows without one"):
        graph_of(authors={"id": ["ann", None, None]})


def test_ids_with_a_zero_character_are_refused():
    """An array of text drops zero characters at the end: this id would become that of another node."""
    with pytest.raises(DiffmgError, match=r"ids of 'author' must have no zero character, but got \['ann\\x00'\]"):
        graph_of(authors={"id": ["ann", "ann\0", "bob"]})
    named = replace(DESCRIPTION, nodes={**DESCRIPTION.nodes, "author": NodeTable()})
    with pytest.raises(DiffmgError, match=r"must have no zero character, but got \['bob\\x00'\]"):
        graph_of(named, wrote={"who": ["bob", "bob\0", "ann"], "what": [5, 5, 7]})


UNKNOWN = {"who": ["bob", "eve", "dan", "eve", "ann"], "what": [5, 5, 5, 7, 7]}


def test_edges_to_unknown_ids_are_an_error():
    with pytest.raises(DiffmgError, match=r"3 rows of relation 'wrote' with 'author' ids") as told:
        graph_of(wrote=UNKNOWN)
    assert all(name in str(told.value) for name in ("'eve'", "'dan'"))


def test_edges_to_unknown_ids_can_be_left_out():
    graph = graph_of(replace(DESCRIPTION, on_unknown="drop"), wrote=UNKNOWN)
    assert edges(graph, WROTE) == {("bob", 5), ("ann", 7)}
    (note,) = [note for note in graph.notes if "unknown" in note]
    assert all(part in note for part in ("relation wrote: 3 rows", "author", "'eve'", "'dan'"))


def test_a_relation_of_unknown_ids_alone():
    with pytest.raises(DiffmgError, match="a network needs one or more relations, but"):
        graph_of(replace(DESCRIPTION, on_unknown="drop"), wrote={"who": ["eve"], "what": [5]})


def test_a_relation_without_edges_is_left_out():
    cites = RelationTable("cites", ("paper", "a"), ("paper", "b"))
    description = replace(DESCRIPTION, relations={**DESCRIPTION.relations, "cites": cites})
    graph = graph_of(description, cites={"a": [None, 5], "b": [7, None]})
    assert graph.schema.relations == (WROTE, BACK)
    assert graph.notes[-1] == "relation cites: no edges, left out"


def test_keys_that_are_null_are_left_out_and_counted():
    graph = graph_of(wrote={"who": ["bob", None, "ann"], "what": [5, 5, None]})
    assert edges(graph, WROTE) == {("bob", 5)}
    assert graph.notes[2:] == (
        "relation wrote: 1 rows that name no author, left out",
        "relation wrote: 1 rows that name no paper, left out",
    )


def test_whole_numbers_with_gaps_may_be_stored_as_others():
    """As pandas does."""
    graph = graph_of(wrote={"who": ["bob", "ann"], "what": np.array([5.0, np.nan])})
    assert edges(graph, WROTE) == {("bob", 5)}


def test_a_key_without_any_value():
    with pytest.raises(DiffmgError, match="a network needs one or more relations, but"):
        graph_of(wrote={"who": ["bob", "ann"], "what": [None, None]})


def test_edges_given_twice_are_counted():
    graph = graph_of(wrote={"who": ["bob", "bob", "bob"], "what": [5, 5, 7]})
    assert graph.notes[-1] == "relation wrote: 1 rows repeat an edge, counted once"
    relation = replace(DESCRIPTION.relations["wrote"], weight="w")
    graph = graph_of(with_relation(relation), wrote={"who": ["bob", "bob"], "what": [5, 5], "w": [1, 2]})
    assert graph.notes[-1] == "relation wrote: 1 rows repeat an edge, their weights added up"
    assert graph.adjacency[WROTE].data.tolist() == [3]


def test_mixed_types_of_ids():
    message = (
        "ids of paper in relation 'wrote' must be of one type in all tables, but got ['int64', 'string']; "
        "make them all text or all whole numbers"
    )
    with pytest.raises(DiffmgError, match=re.escape(message)):
        graph_of(wrote={"who": ["bob"], "what": ["5"]})


def test_numbers_from_text_may_be_text_after_all():
    """In a CSV file all ids of some column may look like numbers though others of the type do not."""
    wrote = {"who": ["bob", "ann"], "what": [5, 7]}
    graph = graph_of(guessed=("wrote",), papers={"id": ["5", "7", "x9"]}, wrote=wrote)
    assert edges(graph, WROTE) == {("bob", "5"), ("ann", "7")}
    with pytest.raises(DiffmgError, match=r"1 rows of relation 'wrote' with 'paper' ids"):
        graph_of(guessed=("papers",), wrote={"who": ["bob", "ann"], "what": ["5", "x"]})
    with pytest.raises(DiffmgError, match="must be of one type in all tables"):
        graph_of(guessed=("papers",), papers={"id": ["5", "7", "x9"]}, wrote=wrote)


def test_nodes_without_a_table_are_those_that_relations_name():
    likes = RelationTable("likes", ("author", "who"), ("topic", "topic"))
    knows = RelationTable("knows", ("topic", "topic"), ("author", "who"))
    description = Description({"author": NodeTable("authors"), "topic": NodeTable()}, {"likes": likes, "knows": knows})
    tables = {
        "likes": {"who": ["ann", "bob", "bob"], "topic": ["sea", "sky", None]},
        "knows": {"topic": ["sun", "sea"], "who": ["ann", "ann"]},
    }
    graph = graph_of(description, **tables)
    assert graph.ids["topic"].tolist() == ["sea", "sky", "sun"]
    assert "topic" not in graph.features
    tables["knows"]["topic"] = [1, 2]
    with pytest.raises(DiffmgError, match=r"but got \['int64', 'str"):
        graph_of(description, **tables)
    assert graph_of(description, guessed=("knows",), **tables).ids["topic"].tolist() == ["1", "2", "sea", "sky"]


def test_nodes_that_nothing_names():
    with pytest.raises(DiffmgError, match="but got neither"):
        graph_of(replace(DESCRIPTION, nodes={**DESCRIPTION.nodes, "topic": NodeTable()}))


def test_ids_of_several_columns():
    nodes = {"author": NodeTable("authors"), "paper": NodeTable("papers", ("journal", "number"))}
    relation = RelationTable("wrote", ("author", "who"), ("paper", "j", "n"))
    graph = graph_of(
        Description(nodes, {"wrote": relation}),
        papers={"journal": ["A", "A", "B"], "number": [1, 2, 1], "pages": [5, 6, 7]},
        wrote={"who": ["bob", "ann", "cid"], "j": ["A", "B", None], "n": [2, 1, 1]},
    )
    assert graph.ids["paper"].tolist() == ["A/1", "A/2", "B/1"]
    assert edges(graph, WROTE) == {("bob", "A/2"), ("ann", "B/1")}
    assert graph.features["paper"].shape == (3, 1)
    assert "relation wrote: 1 rows that name no paper, left out" in graph.notes


def test_columns_are_read_in_node_order_and_edges_in_row_order():
    tables = {name: as_table(columns, name) for name, columns in TABLES.items()}
    tables["wrote"] = as_table({**TABLES["wrote"], "note": ["x", "y", "z"]}, "wrote")
    network = build_network(DESCRIPTION, tables)
    assert network.count("paper") == 2
    assert network.node_column("paper", "year").to_pylist() == [2010, 2000]
    relation, index = network.edges("wrote")
    assert (relation, index.tolist()) == (WROTE, [[1, 0, 1], [0, 1, 1]])
    assert network.edge_column("wrote", "note").to_pylist() == ["x", "y", "z"], "a value per edge"
    with pytest.raises(DiffmgError, match="did you mean 'year'"):
        network.node_column("paper", "yaer")


def test_some_edges_may_be_left_out_and_notes_added():
    network = build_network(DESCRIPTION, {name: as_table(columns, name) for name, columns in TABLES.items()})
    graph = network.graph({"wrote": np.array([True, False, True])}, ["more"])
    assert edges(graph, WROTE) == {("bob", 5), ("bob", 7)}
    assert edges(graph, BACK) == {(5, "bob"), (7, "bob")}
    assert graph.notes == ("author.age: number", "paper.year: number", "more")


def test_other_rows_are_encoded_as_those_that_were_fitted():
    first = build_network(DESCRIPTION, {name: as_table(columns, name) for name, columns in TABLES.items()})
    kept = json.loads(json.dumps(first.graph({}).encoders))
    others = TABLES | {"authors": {"id": ["zed", "ann", "bob", "cid"], "age": [60, 20, 30, 40]}}
    tables = {name: as_table(columns, name) for name, columns in others.items()}
    again = build_network(DESCRIPTION, tables, kept).graph({})
    assert again.ids["author"].tolist() == ["ann", "bob", "cid", "zed"]
    assert torch.equal(again.features["author"][:3], first.graph({}).features["author"])
    assert again.features["author"][3] == pytest.approx(30 / np.std([20, 30, 40]))
    assert again.encoders == kept


def test_encoders_of_another_network_are_told():
    tables = {name: as_table(columns, name) for name, columns in TABLES.items()}
    kept = build_network(DESCRIPTION, tables).graph({}).encoders
    with pytest.raises(DiffmgError, match=r"'paper'.*Known: author"):
        build_network(DESCRIPTION, tables, {"author": kept["author"]})
    with pytest.raises(DiffmgError, match=r"column of nodes 'author': 'age'"):
        build_network(DESCRIPTION, tables | {"authors": as_table({"id": ["ann", "bob"]}, "authors")}, kept)
