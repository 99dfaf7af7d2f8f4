"""The order of rows makes no difference: any shuffle of any file gives the same problem, bit for bit."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import shop_database
from diffmg.core.plan import Source
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.runs.provenance import data_of
from diffmg.runs.sources import open_problem
from diffmg.tables import Description, problem_from_tables, read_problem, write_description
from diffmg.tables.description import NodeTable, RelationTable
from diffmg.tasks import ItemRanking, NodeClassification, Problem, Recommendation
from diffmg.tasks.node_classification import ClassificationSpec
from diffmg.tasks.recommendation import RecommendationSpec
from library import write_csv

Table = dict[str, list[Any]]
orders = st.integers(0, 2**32).map(random.Random)
SHUFFLES = settings(max_examples=10)
TOML = """
[nodes.author]
file = "authors.csv"

[nodes.paper]
file = "papers.csv"
id = ["journal", "number"]

[nodes.topic]

[relations.wrote]
file = "wrote.csv"
source = ["author", "author"]
target = ["paper", "journal", "number"]
weight = "share"

[relations.about]
file = "papers.csv"
source = ["paper", "journal", "number"]
target = ["topic", "topic"]

[relations.likes]
file = "likes.csv"
source = ["author", "author"]
target = ["topic", "topic"]

[task]
"""
LABELS = 'target = "author"\nlabel = "field"\n'
RATINGS = 'kind = "recommendation"\nrelation = "likes"\nrating = "stars"\nliked = 3\n'
RANKED = 'relation = "likes"\nrating = "stars"\nliked = 3\n'


def tables() -> dict[str, Table]:
    """Everything whose order could matter: sums of weights, ties of categories, ids of several columns."""
    rng = np.random.default_rng(0)
    authors, papers, likes = 24, 30, 90
    writers, written = rng.integers(0, authors, 70), rng.integers(0, papers, 70)
    likers, liked = rng.integers(0, authors, likes), rng.integers(0, 12, likes)
    again = [*range(likes), *range(0, likes, 3)]
    return {
        "authors": {
            "author": [f"a{i}" for i in rng.permutation(authors)],
            "age": [None if i % 7 == 0 else float(x) for i, x in enumerate(rng.normal(40, 13, authors))],
            "town": [("Ulm", "Bonn", "Kiel", "Jena")[i % 4] for i in range(authors)],
            "born": [str(date(1950, 1, 1) + timedelta(days=int(d))) for d in rng.integers(0, 9999, authors)],
            "field": [("art", "bio", "chem")[i % 3] for i in range(authors)],
        },
        "papers": {
            "journal": [f"J{i % 4}" for i in range(papers)],
            "number": [i // 4 for i in range(papers)],
            "title": [" ".join(rng.choice(["deep", "graph", "of", "the", "cat"], 5)) for _ in range(papers)],
            "topic": [None if i % 9 == 0 else f"t{rng.integers(12)}" for i in range(papers)],
        },
        "wrote": {
            "author": [f"a{i}" for i in [*writers, *writers[:40]]],
            "journal": [f"J{i % 4}" for i in [*written, *written[:40]]],
            "number": [int(i // 4) for i in [*written, *written[:40]]],
            "share": [float(x) for x in rng.uniform(0.1, 0.9, 110)],
        },
        "likes": {
            "author": [f"a{likers[i]}" for i in again],
            "topic": [f"t{liked[i]}" for i in again],
            "stars": [float(x) for x in rng.choice([1, 2.1, 3.3, 4.7, 5], len(again))],
        },
    }


def shuffled(table: Mapping[str, list[Any]], rng: random.Random) -> Table:
    order = list(range(len(next(iter(table.values())))))
    rng.shuffle(order)
    return {name: [values[i] for i in order] for name, values in table.items()}


def written(folder: Path, task: str, data: Mapping[str, Table]) -> Problem:
    """The problem of these tables as CSV files."""
    for name, columns in data.items():
        write_csv(folder / f"{name}.csv", columns)
    (folder / "it.toml").write_text(TOML + task, encoding="utf-8")
    return read_problem(folder / "it.toml")


def parts(problem: Problem) -> dict[str, Any]:
    """The split by id, with the labels."""
    graph, task = problem.graph, problem.task
    if isinstance(task, NodeClassification):
        ids = graph.ids_of(task.target)
        return {p: [(ids[i], task.classes[task.labels[i]]) for i in index] for p, index in task.parts.items()}
    ends = [graph.ids_of(t) for t in task.target_types]
    if isinstance(task, ItemRanking):
        return {p: [[(ends[0][u], ends[1][i]) for u, i in r] for r in x.rows()] for p, x in task.parts.items()}
    assert isinstance(task, Recommendation)
    return {
        p: [(ends[0][u], ends[1][i], label) for u, i, label in zip(x.pairs.left, x.pairs.right, x.labels, strict=True)]
        for p, x in task.parts.items()
    }


def assert_same(one: Problem, other: Problem) -> None:
    assert data_of(one) == data_of(other)
    assert_same_network(one.graph, other.graph)
    assert parts(one) == parts(other)


def assert_same_network(one: HeteroGraph, other: HeteroGraph) -> None:
    """To the bit, and node by node, without the help of hashes."""
    assert one.schema == other.schema
    assert one.notes == other.notes
    assert one.encoders == other.encoders
    for node_type in one.schema.node_types:
        assert one.ids_of(node_type).tolist() == other.ids_of(node_type).tolist()
    assert one.features.keys() == other.features.keys()
    for node_type, features in one.features.items():
        assert torch.equal(dense(features), dense(other.features[node_type]))
    for relation, matrix in one.adjacency.items():
        for mine, theirs in zip(raw(matrix), raw(other.adjacency[relation]), strict=True):
            assert np.array_equal(mine, theirs)


def dense(features: torch.Tensor | FixedMatrix) -> torch.Tensor:
    return features.forward.to_dense() if isinstance(features, FixedMatrix) else features


def raw(matrix: Any) -> tuple[np.ndarray, ...]:
    return matrix.indptr, matrix.indices, matrix.data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def test_the_tables_hold_what_could_depend_on_order(folder: Path) -> None:
    data, problem = tables(), written(folder, RATINGS, tables())
    towns = [data["authors"]["town"].count(t) for t in set(data["authors"]["town"])]
    assert len(set(towns)) == 1
    notes = " ".join(problem.graph.notes)
    assert "wrote: " in notes
    assert "their weights added up" in notes
    assert "author.town: category, 4 kinds" in notes
    assert "paper.title: text" in notes
    pairs = list(zip(data["likes"]["author"], data["likes"]["topic"], strict=True))
    assert len(set(pairs)) < len(pairs)
    assert "topic" not in problem.graph.features
    assert problem.graph.ids_of("paper")[0] == "J0/0"


@pytest.mark.parametrize(
    "task", [LABELS + "seed = 3\nshares = [0.4, 0.3, 0.3]", RATINGS + "seed = 5", RANKED + "seed = 5"]
)
@SHUFFLES
@given(rng=orders)
def test_csv_files_may_be_in_any_order(folder: Path, task: str, rng: random.Random) -> None:
    there = {name: shuffled(table, rng) for name, table in tables().items()}
    assert_same(written(folder, task, there), written(folder, task, tables()))


@pytest.mark.parametrize("name", ["authors", "papers", "wrote", "likes"])
def test_each_file_alone_may_be_turned_round(folder: Path, name: str) -> None:
    data = tables()
    data[name] = {column: values[::-1] for column, values in data[name].items()}
    assert data[name] != tables()[name]
    for task in (LABELS, RATINGS, RANKED):
        assert_same(written(folder, task, data), written(folder, task, tables()))


@SHUFFLES
@given(rng=orders)
def test_a_split_in_a_column_goes_with_its_rows(folder: Path, rng: random.Random) -> None:
    data = tables()
    data["authors"]["part"] = ["train"] * 12 + ["val"] * 6 + ["test"] * 4 + [None] * 2
    pairs = [(f"a{u}", f"t{i}", stars) for u in range(24) for i, stars in enumerate((1.0, 5.0, 2.0, 4.0))]
    columns = dict(zip(("author", "topic", "stars"), map(list, zip(*pairs, strict=True)), strict=True))
    data["likes"] = columns | {"part": [("train", "val", "test", None)[i // 4 % 4] for i in range(len(pairs))]}
    there = {name: shuffled(table, rng) for name, table in data.items()}
    for task in (LABELS, RATINGS, RANKED):
        split = task + 'split = "part"\n'
        assert_same(written(folder, split, there), written(folder, split, data))


@settings(max_examples=4)
@given(rng=orders)
def test_rows_of_a_database_may_be_in_any_order(tmp_path_factory: pytest.TempPathFactory, rng: random.Random) -> None:
    """A table without a key, keys of several columns, and a table that is a relation are among them."""
    pytest.importorskip("sqlalchemy")
    folder = tmp_path_factory.mktemp("shop")
    data = shop_database.rows()
    there = {table: rng.sample(rows, len(rows)) for table, rows in data.items()}
    shop_database.make_sqlite(folder / "one.db", data)
    shop_database.make_sqlite(folder / "other.db", there)
    one, other = (
        open_problem(Source(str(folder / f"{name}.db"), target="customers.churned")) for name in ("one", "other")
    )
    assert_same(one, other)


@SHUFFLES
@given(rng=orders)
def test_tables_of_a_database_that_are_described_by_hand(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random
) -> None:
    """Ratings and weights given twice, in SQLite."""
    pytest.importorskip("sqlalchemy")
    folder = tmp_path_factory.mktemp("likes")
    likes = RelationTable("likes", ("author", "author"), ("topic", "topic"), weight="stars")
    nodes, task = {"author": NodeTable(), "topic": NodeTable()}, RecommendationSpec("likes", "stars")
    write_description(folder / "it.toml", Description(nodes, {"likes": likes}, task, database="it.db"))
    found = []
    for table in (tables()["likes"], shuffled(tables()["likes"], rng)):
        (folder / "it.db").unlink(missing_ok=True)
        connection = sqlite3.connect(folder / "it.db")
        connection.execute("CREATE TABLE likes (author TEXT, topic TEXT, stars REAL)")
        connection.executemany("INSERT INTO likes VALUES (?, ?, ?)", list(zip(*table.values(), strict=True)))
        connection.commit()
        connection.close()
        found.append(read_problem(folder / "it.toml"))
    assert_same(*found)


@st.composite
def rated(draw: st.DrawFn) -> tuple[Table, Table]:
    """Few ids and many rows, most of them given twice, and the same in another order."""
    row = st.tuples(st.sampled_from("uvwxyz"), st.integers(1, 6), st.sampled_from([0.1, 0.2, 0.3, 1.1, 3.7, 4.9]))
    rows = draw(st.lists(row, min_size=20, max_size=40))
    rows += [(u, i, s) for u in "uvwxyz" for i, s in ((7, 5.0), (8, 5.0), (9, 1.0))]
    order = draw(st.permutations(range(len(rows))))
    return tuple(
        dict(zip(("user", "item", "stars"), map(list, zip(*(rows[i] for i in places), strict=True)), strict=True))
        for places in (range(len(rows)), order)
    )


@given(rated(), st.booleans())
def test_any_ratings_and_weights_given_twice(given_rows: tuple[Table, Table], weighted: bool) -> None:
    relation = RelationTable("rated", ("user", "user"), ("item", "item"), weight="stars" if weighted else None)
    description = Description(
        {"user": NodeTable(), "item": NodeTable()}, {"rated": relation}, RecommendationSpec("rated", "stars", 3.0)
    )
    assert_same(*(problem_from_tables(description, {"rated": table}) for table in given_rows))


def test_the_mean_of_ratings_is_the_same_to_the_bit() -> None:
    """0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1: a third of the one is above 0.2, of the other below."""
    rest = [(user, item, float(item)) for user in "uvw" for item in range(6)]
    found = []
    for stars in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)):
        rows = [*(("x", 7, star) for star in stars), *rest]
        table = dict(zip(("user", "item", "stars"), map(list, zip(*rows, strict=True)), strict=True))
        description = Description(
            {"user": NodeTable(), "item": NodeTable()},
            {"rated": RelationTable("rated", ("user", "user"), ("item", "item"))},
            RecommendationSpec("rated", "stars", 0.2),
        )
        found.append(problem_from_tables(description, {"rated": table}))
    assert_same(*found)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-1e6, 1e6)), min_size=12, max_size=30), orders)
def test_any_columns_with_ties(rows: list[tuple[str, float]], rng: random.Random) -> None:
    table = {
        "id": list(range(len(rows))),
        "kind": [kind for kind, _ in rows],
        "size": [size for _, size in rows],
        "y": [i % 2 for i in range(len(rows))],
    }
    description = Description(
        {"a": NodeTable("a", ("id",)), "b": NodeTable()},
        {"r": RelationTable("a", ("a", "id"), ("b", "y2"))},
        ClassificationSpec("a", ("y",)),
    )
    table["y2"] = table["y"]
    assert_same(*(problem_from_tables(description, {"a": t}) for t in (table, shuffled(table, rng))))


def test_notes_on_unknown_ids_do_not_depend_on_the_order_of_rows():
    nodes = {"a": {"id": ["x", "y"]}, "b": {"id": [1]}}
    rows = [("x", 1), ("q", 1), ("p", 1), ("z", 1), ("k", 1)]
    notes = {
        HeteroGraph.from_tables(
            nodes, {("a", "r", "b"): {"a": [u for u, _ in there], "b": [v for _, v in there]}}, on_unknown="drop"
        ).notes
        for there in (rows, rows[::-1])
    }
    assert len(notes) == 1
