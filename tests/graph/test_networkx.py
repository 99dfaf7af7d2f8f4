from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.graph.networkx import from_networkx

WROTE = Relation("author", "wrote", "paper")
BACK = Relation("paper", "rev_wrote", "author")


def library(graph: nx.Graph) -> nx.Graph:
    graph.add_node("ann", type="author", age=20, field="art", tags=["x"])
    graph.add_node(1, type="paper", year=2000, open=True)
    graph.add_node("bob", type="author", age=30)
    graph.add_node(2, type="paper")
    graph.add_edge("ann", 1, type="wrote")
    graph.add_edge("bob", 1, type="wrote")
    return graph


def test_types_ids_and_edges():
    graph = from_networkx(library(nx.DiGraph()))
    assert {t: ids.tolist() for t, ids in graph.ids.items()} == {"author": ["ann", "bob"], "paper": [1, 2]}
    assert graph.schema.relations == (WROTE,)
    assert graph.edge_index(WROTE).tolist() == [[0, 1], [0, 0]]


def test_numeric_attributes_are_features():
    graph = from_networkx(library(nx.DiGraph()))
    assert graph.features["author"].tolist() == [[-1], [1]]
    assert graph.notes == (
        "author.age: number",
        "paper.year: left out (a number that is always the same), 1 missing (which is a feature too)",
        "paper.open: left out (a number that is always the same), 1 missing (which is a feature too)",
    )
    assert "author" not in from_networkx(library(nx.DiGraph()), drop={"author": ["age"]}).features


def test_undirected_edges_go_both_ways():
    """Whichever end NetworkX names first."""
    given = library(nx.Graph())
    given.add_edge(2, "ann", type="wrote")
    given.add_edge("ann", "bob", type="knows")
    graph = from_networkx(given)
    knows = Relation("author", "knows", "author")
    assert set(graph.schema.relations) == {WROTE, BACK, knows}
    assert graph.adjacency[WROTE].toarray().tolist() == [[1, 1], [1, 0]]
    np.testing.assert_array_equal(graph.adjacency[BACK].toarray(), graph.adjacency[WROTE].toarray().T)
    assert graph.adjacency[knows].toarray().tolist() == [[0, 1], [1, 0]]


def test_loops_of_an_undirected_graph_count_once():
    given = library(nx.Graph())
    given.add_edge("ann", "ann", type="knows", weight=3)
    assert from_networkx(given).adjacency[Relation("author", "knows", "author")].toarray().tolist() == [[3, 0], [0, 0]]


def test_the_way_back_of_a_directed_graph():
    assert from_networkx(library(nx.DiGraph()), reverse=True).schema.relations == (WROTE, BACK)


@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph])
def test_several_edges_between_two_nodes(kind):
    given = library(kind())
    given.add_edge("ann", 1, type="wrote")
    given.add_edge("ann", 1, type="read")
    graph = from_networkx(given)
    assert graph.adjacency[WROTE].toarray().tolist() == [[1, 1], [0, 0]]
    assert graph.adjacency[Relation("author", "read", "paper")].nnz == 1
    assert "relation wrote: 1 rows repeat an edge, counted once" in graph.notes


def test_weights():
    given = library(nx.DiGraph())
    given.edges["ann", 1]["weight"] = 0.5
    assert from_networkx(given).adjacency[WROTE].toarray().tolist() == [[0.5, 1], [0, 0]]


def test_other_names_of_the_attributes():
    given = nx.DiGraph()
    given.add_node((0, 1), kind="cell", id=4.0)
    given.add_node("x", kind="cell", id=5.0)
    given.add_edge((0, 1), "x", label="next")
    graph = HeteroGraph.from_networkx(given, "kind", "label")
    assert graph.ids["cell"].tolist() == ["(0, 1)", "x"]
    assert graph.features["cell"].shape == (2, 1)


def test_nodes_without_a_type():
    given = library(nx.Graph())
    given.add_node("eve")
    with pytest.raises(DiffmgError, match=r"but got 1 of 5 .*such as \['eve'\]"):
        from_networkx(given)


def test_edges_without_a_type():
    given = library(nx.DiGraph())
    given.add_edge("ann", 2)
    with pytest.raises(DiffmgError, match=r"but got None for \('ann', 2\)"):
        from_networkx(given)


def test_a_graph_of_nothing():
    with pytest.raises(DiffmgError, match="a network needs one or more relations, but"):
        from_networkx(nx.Graph())
