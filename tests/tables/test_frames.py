from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.estimators import MetaGraphClassifier
from diffmg.graph.fingerprint import graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tables import read_table
from diffmg.tasks import NodeClassification
from library import library

WROTE = ("author", "wrote", "paper")
AUTHORS = {"id": ["ann", "bob", "cid"], "age": [20, 30, 40], "field": ["art", "bio", "art"]}
PAPERS = {"id": [7, 5], "year": [2000, 2010]}
LINKS = {"a": ["bob", "ann", "bob"], "p": [5, 7, 7]}


def graph_of(**more: Any) -> HeteroGraph:
    given = {"nodes": {"author": AUTHORS, "paper": PAPERS}, "relations": {WROTE: LINKS}} | more
    return HeteroGraph.from_tables(given.pop("nodes"), given.pop("relations"), **given)


def makers() -> list[Any]:
    def pandas(columns: dict[str, Any]) -> Any:
        return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(columns)

    def polars(columns: dict[str, Any]) -> Any:
        return pytest.importorskip("polars", reason="polars is not installed").DataFrame(columns)

    def arrow(columns: dict[str, Any]) -> Any:
        return pa.table(columns)

    def arrays(columns: dict[str, Any]) -> Any:
        return {name: np.asarray(values) for name, values in columns.items()}

    return [pandas, polars, arrow, arrays, dict]


@pytest.mark.parametrize("make", makers(), ids=lambda make: make.__name__)
def test_frames_of_any_kind_give_the_same_network(make):
    graph = graph_of(nodes={"author": make(AUTHORS), "paper": make(PAPERS)}, relations={WROTE: make(LINKS)})
    assert graph.ids["author"].tolist() == ["ann", "bob", "cid"]
    assert graph.ids["paper"].tolist() == [7, 5], "rows keep their order"
    assert graph.schema.relations == (Relation(*WROTE), Relation("paper", "rev_wrote", "author"))
    assert graph.adjacency[Relation(*WROTE)].toarray().tolist() == [[1, 1, 0], [0, 1, 0]]
    assert graph.notes == ("author.age: number", "author.field: category, 2 kinds", "paper.year: number")
    assert graph.features["author"].shape == (3, 3)


def test_a_column_of_a_table_is_in_the_order_of_its_nodes():
    """So labels may be taken from the table as they stand, whatever the order of ids."""
    ids, labels = ["a10", "a2", "a1", "a0"], ["x", "y", "x", "y"]
    graph = graph_of(nodes={"author": {"id": ids}, "paper": PAPERS}, relations={WROTE: {"a": ids, "p": [5, 7, 7, 5]}})
    task = NodeClassification.from_column("author", labels, split=["train", "train", "val", "val"])
    assert dict(zip(graph.ids_of("author"), task.labels.tolist(), strict=True)) == {"a10": 0, "a2": 1, "a1": 0, "a0": 1}


def test_features_do_not_depend_on_the_order_of_rows():
    shuffled = graph_of(nodes={"author": {name: v[::-1] for name, v in AUTHORS.items()}, "paper": PAPERS})
    graph = graph_of()
    assert graph.features["author"].tolist() == shuffled.features["author"].tolist()[::-1]
    assert graph_digests(graph) == graph_digests(shuffled)


def test_labels_are_dropped():
    assert graph_of(drop={"author": ["field"]}).features["author"].shape == (3, 1)
    assert "author" not in graph_of(drop={"author": ["age", "field"]}).features


def test_ids_may_be_another_column_or_several():
    papers = {"year": [2000, 2010, 2010], "name": ["x", "x", "y"]}
    graph = graph_of(
        nodes={"author": AUTHORS, "paper": papers},
        relations={WROTE: {"a": ["bob", "ann"], "n": ["x", "y"], "y": [2000, 2010]}},
        ids={"paper": ["name", "year"], "author": "id"},
    )
    assert graph.ids["paper"].tolist() == ["x/2000", "x/2010", "y/2010"]
    assert graph.edge_index(Relation(*WROTE)).tolist() == [[1, 0], [0, 2]]


def test_a_column_called_weight_is_the_weight():
    graph = graph_of(relations={WROTE: {**LINKS, "note": ["x", "y", "z"], "weight": [1, 2, 3]}})
    assert graph.adjacency[Relation(*WROTE)].toarray().tolist() == [[2, 3, 0], [0, 1, 0]]


def test_no_reverse_where_none_is_wanted():
    assert graph_of(reverse=False).schema.relations == (Relation(*WROTE),)


def test_types_without_a_table():
    graph = graph_of(nodes={"author": AUTHORS, "paper": None})
    assert graph.ids["paper"].tolist() == [5, 7]


def test_relations_that_share_a_name():
    back = ("paper", "wrote", "author")
    graph = graph_of(relations={WROTE: LINKS, back: {"p": [5], "a": ["cid"]}}, reverse=False)
    assert graph.schema.relations == (Relation(*WROTE), Relation(*back))


def test_unknown_ids():
    links = {"a": ["bob", "eve"], "p": [5, 7]}
    with pytest.raises(DiffmgError, match=r"1 rows of relation 'wrote' with 'author' ids"):
        graph_of(relations={WROTE: links})
    graph = graph_of(relations={WROTE: links}, on_unknown="drop")
    assert graph.notes[-1] == "relation wrote: 1 rows with unknown author ids left out, such as ['eve']"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ids": {"autor": "id"}}, "unknown node type in `ids`: 'autor'; did you mean 'author'?"),
        ({"drop": {"papers": ["year"]}}, "unknown node type in `drop`: 'papers'; did you mean 'paper'?"),
        ({"drop": {"author": ["feild"]}}, "unknown column of nodes 'author': 'feild'; did you mean 'field'?"),
        ({"drop": {"author": "field"}}, "`drop` must map a node type to a list of columns, but got 'field'"),
        ({"ids": {"author": "name"}}, "unknown column of nodes 'author': 'name'"),
        ({"on_unknown": "skip"}, "`on_unknown` must be one of 'error', 'drop', but got on_unknown='skip'"),
        ({"nodes": {"author": AUTHORS}}, "unknown node type in relation 'wrote': 'paper'"),
        ({"nodes": {"author": [1], "paper": PAPERS}}, "the table of nodes 'author' must speak Arrow or map names"),
        ({"relations": {}}, "a network needs one or more relations, but got 0"),
        ({"relations": {("author", "paper"): LINKS}}, "a relation is (source, name, target), but got"),
        ({"relations": {WROTE: {"a": ["bob"]}}}, "the table of relation 'wrote' must start with 2 columns of ids"),
        ({"relations": {WROTE: {"a": ["bob"], "p": ["7"]}}}, "ids of paper in relation 'wrote' must be of one type"),
        (
            {"relations": {WROTE: {"a": ["bob"], "p": [[0.5]]}}},
            "ids in column 'p' of relation 'wrote' must be text or whole numbers, but got list<",
        ),
    ],
)
def test_what_does_not_fit(more, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        graph_of(**more)


def test_from_frames_to_predictions():
    tables = library()
    graph = HeteroGraph.from_tables(
        {"author": tables["authors"], "paper": tables["papers"]},
        {WROTE: tables["wrote"]},
        ids={"paper": "paper"},
        drop={"author": ["field"]},
    )
    authors = pa.table(tables["authors"]).sort_by("author")
    task = NodeClassification.from_column("author", authors["field"])
    field = dict(zip(tables["authors"]["author"], tables["authors"]["field"], strict=True))
    assert [task.classes[i] for i in task.labels] == [field[a] for a in graph.ids_of("author")]
    method = DiffMG(depth=1, search_seeds=1, epochs=2)
    model = MetaGraphClassifier(method=method, settings={"dim": 8, "max_epochs": 3}).fit(graph, task)
    assert model.predict(["a7"])[0] in ("art", "bio")


ODD_LINKS = {("a", "r", "b"): {"a": ["x", "y"], "b": [1, 2]}}


def test_columns_of_polars_that_can_be_no_feature_do_no_harm():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(
        {"id": ["x", "y"], "list": [["p"], ["q"]], "bytes": [b"p", b"q"], "pair": [{"k": "v"}] * 2}
    )
    graph = HeteroGraph.from_tables({"a": frame, "b": None}, ODD_LINKS)
    assert "a" not in graph.features
    assert all("left out" in note for note in graph.notes[:3])


def test_an_index_of_pandas_without_a_name_is_no_column(tmp_path):
    """A frame of some rows has one, and writes it into Parquet."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"film": [f"f{i}" for i in range(8)], "year": range(2000, 2008)})[lambda f: f.year % 5 > 0]
    frame.to_parquet(tmp_path / "films.parquet")
    assert "__index_level_0__" in parquet.read_schema(tmp_path / "films.parquet").names
    edges = {("film", "of", "decade"): {"film": ["f3", "f4"], "decade": [0, 1]}}
    for table in (frame, read_table(tmp_path / "films.parquet")):
        graph = HeteroGraph.from_tables({"film": table, "decade": None}, edges)
        assert (graph.features["film"].shape, graph.notes) == ((6, 1), ("film.year: number",))
