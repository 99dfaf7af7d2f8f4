"""Leaks in networks that were built in Python: features without names, many features, several labels, numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from diffmg.graph.network import HeteroGraph
from diffmg.leaks import leak_notes
from diffmg.leaks.labels import Labels
from diffmg.leaks.paths import Path, paths_to
from diffmg.leaks.telling import telling_signals
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem

PEOPLE, CLUBS = 500, 1000


def network(people: np.ndarray | sp.csr_matrix, clubs: np.ndarray | sp.csr_matrix) -> HeteroGraph:
    """Every person has two clubs of their own."""
    edges = {("club", "of", "person"): np.stack([np.arange(CLUBS), np.arange(CLUBS) // 2])}
    return HeteroGraph.build({"person": PEOPLE, "club": CLUBS}, edges, {"person": people, "club": clubs})


def problem_of(graph: HeteroGraph, labels: np.ndarray) -> Problem:
    parts = {"train": np.arange(300), "val": np.arange(300, 400), "test": np.arange(400, 500)}
    return Problem(graph, NodeClassification.build("person", labels, **parts))


def noise(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)


def words(rows: int, columns: int = 200) -> np.ndarray:
    return (np.random.default_rng(rows).random((rows, columns)) < 0.1).astype(np.float32)


LABELS = np.random.default_rng(7).integers(0, 3, PEOPLE)


def test_a_feature_without_a_name_is_named_by_its_number() -> None:
    people = noise(PEOPLE, 5)
    people[:, 3] = LABELS + people[:, 3] / 20
    (note,) = leak_notes(problem_of(network(people, noise(CLUBS, 5)), LABELS))
    assert note.startswith("leak: person.feature 3 alone is right for")
    assert note.endswith("leave it out of the features of 'person'")


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_matrix])
def test_one_of_many_features_is_found(as_matrix: type) -> None:
    people, marks = words(PEOPLE), LABELS % 2
    people[:, 77] = marks
    (note,) = leak_notes(problem_of(network(as_matrix(people), noise(CLUBS, 5)), marks))
    assert note.startswith("leak: person.features (feature 77 of 200)")


def test_one_of_many_features_of_linked_nodes_is_found() -> None:
    clubs, marks = words(CLUBS), LABELS % 2
    clubs[:, 11] = np.repeat(marks, 2)
    (note,) = leak_notes(problem_of(network(noise(PEOPLE, 5), sp.csr_matrix(clubs)), marks))
    assert note.startswith("leak: club.features over 'club -of-> person' (feature 11 of 200)")


def test_each_of_several_labels_is_looked_at() -> None:
    marks = np.random.default_rng(3).integers(0, 2, (PEOPLE, 3))
    people = noise(PEOPLE, 5)
    people[:, 1] = marks[:, 2]
    (note,) = leak_notes(problem_of(network(people, noise(CLUBS, 5)), marks))
    assert note.startswith("leak: person.feature 1 ")


@pytest.mark.parametrize(("spread", "found"), [(0.02, True), (0.5, False)])
def test_numbers_are_looked_at_too(spread: float, found: bool) -> None:
    rng = np.random.default_rng(0)
    target, people = rng.lognormal(0, 1, PEOPLE), noise(PEOPLE, 5)
    people[:, 2] = np.log(target) + rng.normal(0, spread, PEOPLE)
    labels = Labels.of(np.arange(400), target[:400], "number", 4000)
    notes = telling_signals(network(people, noise(CLUBS, 5)), "person", labels, lambda _: False)
    assert [str(note).startswith("leak: person.feature 2 alone explains 9") for note in notes] == [True] * found


def test_few_labels_say_nothing() -> None:
    people = noise(PEOPLE, 5)
    people[:, 3] = LABELS
    labels = Labels.of(np.arange(25), LABELS[:25], "class", 4000)
    assert telling_signals(network(people, noise(CLUBS, 5)), "person", labels, lambda _: False) == []


def test_paths_follow_two_relations_and_do_not_come_back() -> None:
    edges = {
        ("b", "r", "a"): [[0, 1, 2], [0, 0, 1]],
        ("c", "s", "b"): [[0, 1, 1], [0, 0, 1]],
        ("a", "t", "b"): [[0], [0]],
        ("a", "u", "a"): [[0], [1]],
    }
    graph = HeteroGraph.build({"a": 3, "b": 3, "c": 2}, edges)
    labels = Labels.of(np.arange(3), np.arange(3) % 2, "class", 9)
    found = {str(path): path for path in paths_to(graph, "a", labels)}
    assert list(found) == ["'b -r-> a'", "'a -u-> a'", "'b -r-> a' then 'c -s-> b'"]
    dense = found["'b -r-> a' then 'c -s-> b'"].links.toarray()
    assert dense.tolist() == [[[1, 2], [0, 0], [0, 0]][node] for node in labels.nodes]


def test_one_link_is_drawn_for_each_node_and_the_largest_is_that_of_all() -> None:
    rng = np.random.default_rng(0)
    links = sp.csr_matrix((rng.random((40, 30)) < 0.2).astype(np.float32))
    path = Path((), links)
    linked = path.counts > 0
    some = path.rows(linked)
    dense = links.toarray()[linked] > 0
    assert dense[np.arange(len(dense)), some.drawn()].all()
    values = rng.normal(size=(30, 2)).astype(np.float32)
    assert (some.largest(values) == [values[row].max(axis=0) for row in dense]).all()
