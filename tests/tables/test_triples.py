from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.fingerprint import graph_digests
from diffmg.graph.network import HeteroGraph
from diffmg.tables import read_description, read_graph, read_problem, write_description

ROWS = [
    ("aspirin", "treats", "pain"),
    ("aspirin", "causes", "nausea"),
    ("ibuprofen", "treats", "pain"),
    ("pain", "causes", "nausea"),
    ("aspirin", "similar", "ibuprofen"),
]
KINDS = {"aspirin": "drug", "ibuprofen": "drug", "pain": "symptom", "nausea": "symptom"}
ALL = {
    ("drug", "treats", "symptom"): {("aspirin", "pain"), ("ibuprofen", "pain")},
    ("drug", "causes", "symptom"): {("aspirin", "nausea")},
    ("symptom", "causes", "symptom"): {("pain", "nausea")},
    ("drug", "similar", "drug"): {("aspirin", "ibuprofen")},
}


def edges(graph: HeteroGraph) -> dict[tuple[str, str, str], set[tuple[Any, Any]]]:
    """Edges of all relations by the ids of their ends."""
    found = {}
    for relation in graph.schema.relations:
        source, target = graph.edge_index(relation)
        ends = graph.ids_of(relation.source)[source], graph.ids_of(relation.target)[target]
        found[relation.source, relation.name, relation.target] = set(zip(*(e.tolist() for e in ends), strict=True))
    return found


def write(path: Path, rows: list[tuple[Any, ...]], separator: str = "\t") -> None:
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def described(folder: Path, more: str = "") -> Path:
    path = folder / "kg.toml"
    text = more if "[triples]" in more else f'[triples]\nfile = "kg.tsv"\n{more}'
    path.write_text(text, encoding="utf-8")
    return path


def test_one_type_and_a_relation_for_each_name():
    graph = HeteroGraph.from_triples(ROWS, reverse=False)
    assert graph.num_nodes == {"node": 4}
    wanted = {("node", name, "node"): {(h, t) for h, r, t in ROWS if r == name} for name in {r for _, r, _ in ROWS}}
    assert edges(graph) == wanted


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("rst"), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_edges_are_those_of_a_loop(rows):
    kinds = {i: "ab"[i % 2] for i in range(6)}
    types = {"id": list(kinds), "type": list(kinds.values())}
    wanted: dict[tuple[str, str, str], set[tuple[int, int]]] = {}
    for h, r, t in rows:
        wanted.setdefault((kinds[h], r, kinds[t]), set()).add((h, t))
    assert edges(HeteroGraph.from_triples(rows, types, reverse=False)) == wanted


@pytest.mark.parametrize("types", [KINDS, {"name": list(KINDS), "type": list(KINDS.values())}])
def test_types_of_nodes(types):
    graph = HeteroGraph.from_triples(ROWS, types, reverse=False)
    assert edges(graph) == ALL
    both = HeteroGraph.from_triples(ROWS, types)
    assert Relation("symptom", "rev_treats", "drug") in both.schema.relations


def test_frames_and_other_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(ROWS, columns=["x", "how", "y"]).assign(w=[1.0, 2.0, 3.0, 4.0, 5.0])
    graph = HeteroGraph.from_triples(frame, KINDS, head="x", relation="how", tail="y", weight="w", reverse=False)
    assert edges(graph) == ALL
    treats = graph.adjacency[Relation("drug", "treats", "symptom")]
    assert sorted(treats.data.tolist()) == [1.0, 3.0]


def test_columns_of_nodes_are_features_but_for_those_left_out():
    nodes = {"id": list(KINDS), "type": list(KINDS.values()), "year": [1, 2, 3, 4], "sold": ["a", "b", "a", "b"]}
    graph = HeteroGraph.from_triples(ROWS, nodes, drop=["sold"])
    assert {t: x.shape[1] for t, x in graph.features.items()} == {"drug": 1, "symptom": 1}


@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("name", ["kg.tsv", "kg.csv", "kg.txt.gz"])
def test_a_file_of_triples_with_or_without_a_head(tmp_path: Path, head: bool, name: str):
    rows = [("Subject", "predicate", "object"), *ROWS] if head else ROWS
    separator = "," if name.endswith("csv") else "\t"
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    graph = read_graph(described(tmp_path, f'[triples]\nfile = "{name}"\n'))
    assert graph_digests(graph) == graph_digests(HeteroGraph.from_triples(ROWS))
    assert any("without a head line" in note for note in graph.notes) is not head


def test_a_first_row_that_says_the_same_twice_is_no_head(tmp_path: Path):
    write(tmp_path / "kg.tsv", [("a", "likes", "a"), ("a", "likes", "b")])
    assert edges(read_graph(described(tmp_path)))["node", "likes", "node"] == {("a", "a"), ("a", "b")}


def test_types_in_columns_of_the_triples(tmp_path: Path):
    rows = [(h, KINDS[h], r, t, KINDS[t]) for h, r, t in ROWS]
    write(tmp_path / "kg.tsv", [("head", "head_type", "relation", "tail", "tail_type"), *rows])
    graph = read_graph(described(tmp_path))
    assert graph_digests(graph) == graph_digests(HeteroGraph.from_triples(ROWS, KINDS))


def with_nodes(folder: Path, more: str = "") -> Path:
    write(folder / "kg.tsv", ROWS)
    nodes = [("name", "type", "label"), *((n, k, f"class {i % 2}") for i, (n, k) in enumerate(KINDS.items()))]
    write(folder / "nodes.csv", nodes, ",")
    return described(folder, f'nodes = "nodes.csv"\n{more}')


def test_types_and_labels_in_a_second_file(tmp_path: Path):
    path = with_nodes(tmp_path, '[task]\ntarget = "drug"\nlabel = "label"\n')
    many = [(f"d{i}", "treats", "pain") for i in range(20)]
    write(tmp_path / "kg.tsv", [*ROWS, *many])
    with (tmp_path / "nodes.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"d{i},drug,class {i % 2}\n" for i in range(20))
    problem = read_problem(path)
    assert problem.task.target_types == ("drug",)
    assert problem.graph.num_nodes == {"drug": 22, "symptom": 2}
    assert "drug" not in problem.graph.features, "types and labels are no features"


def test_a_description_of_triples_is_written_and_edited(tmp_path: Path):
    path = with_nodes(tmp_path)
    first = read_description(path)
    write_description(tmp_path / "full.toml", first)
    assert read_description(tmp_path / "full.toml") == first
    assert graph_digests(read_graph(tmp_path / "full.toml")) == graph_digests(read_graph(path))
    fewer = {name: r for name, r in first.relations.items() if name != "similar"}
    write_description(tmp_path / "fewer.toml", replace(first, relations=fewer))
    assert edges(read_graph(tmp_path / "fewer.toml")).keys() == edges(read_graph(path)).keys() - {
        ("drug", "similar", "drug"),
        ("drug", "rev_similar", "drug"),
    }


def test_rows_without_a_relation_are_told(tmp_path: Path):
    write(tmp_path / "kg.tsv", [("head", "relation", "tail"), *ROWS, ("pain", "", "aspirin")])
    assert "kg.tsv: 1 rows without a relation, left out" in read_graph(described(tmp_path)).notes


def test_nodes_without_a_type(tmp_path: Path):
    path = with_nodes(tmp_path)
    write(tmp_path / "kg.tsv", [*ROWS, ("aspirin", "treats", "fever")])
    with pytest.raises(DiffmgError, match=r"every node of the triples needs a type.*\['fever'\].*on_unknown"):
        read_graph(path)
    dropping = tmp_path / "drop.toml"
    dropping.write_text('on_unknown = "drop"\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert edges(read_graph(dropping)) == edges(HeteroGraph.from_triples(ROWS, KINDS))


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "triples are rows (head, relation, tail), but got none"),
        ([("a", "b")], {}, "triples are rows (head, relation, tail), but got ('a', 'b')"),
        ({"x": ["a"], "y": ["b"]}, {}, "triples have columns head, relation and tail"),
        (ROWS, {"types": {"aspirin": "drug"}}, "every node of the triples needs a type, but got"),
        (ROWS, {"types": {"id": [1], "type": ["x"]}}, "ids of the triples and their nodes must be of one type"),
        (ROWS, {"types": KINDS, "drop": "label"}, "`drop` must be a list of columns, but got 'label'"),
        (ROWS, {"types": KINDS, "drop": ["label"]}, "unknown column of the types"),
        (ROWS, {"tial": "x"}, "unknown option of triples: 'tial'"),
        (ROWS, {"types": KINDS, "type": "kind"}, "unknown column of the nodes of the triples"),
        ({"head": ["a"], "relation": ["r"], "tail": ["b"], "head_type": ["x"]}, {}, "only one of"),
    ],
)
def test_triples_that_do_not_fit(given, options, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        HeteroGraph.from_triples(given, **options)


def test_descriptions_that_do_not_fit(tmp_path: Path):
    write(tmp_path / "kg.tsv", [("a", "b", "c", "d")])
    with pytest.raises(DiffmgError, match="three columns and no head line, but got"):
        read_graph(described(tmp_path))
    with pytest.raises(DiffmgError, match="but got a database beside them"):
        read_graph(described(tmp_path, 'database = "x.db"\n[triples]\nfile = "kg.tsv"\n'))
