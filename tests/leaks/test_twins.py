from __future__ import annotations

import numpy as np

from diffmg.graph.network import HeteroGraph
from diffmg.leaks import leak_notes
from diffmg.leaks.twins import looks
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem

PEOPLE = 300


def town(doubled: int, *, same_label: bool = True, columns: int = 3) -> Problem:
    """People with features and clubs; the first of validation are copies of the first of training."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(PEOPLE, columns)).astype(np.float32)
    labels, clubs = rng.integers(0, 3, PEOPLE), rng.integers(0, 20, (PEOPLE, 2))
    clubs[:, 1] = (clubs[:, 0] + 1 + clubs[:, 1] % 19) % 20
    train, val, test = np.arange(180), np.arange(180, 240), np.arange(240, 300)
    copies = val[:doubled]
    features[copies], clubs[copies] = features[:doubled], clubs[:doubled]
    if same_label:
        labels[copies] = labels[:doubled]
    edges = {("club", "has", "person"): np.stack([clubs.ravel(), np.repeat(np.arange(PEOPLE), 2)])}
    graph = HeteroGraph.build({"person": PEOPLE, "club": 20}, edges, {"person": features})
    return Problem(graph, NodeClassification.build("person", labels, train=train, val=val, test=test))


def test_duplicates_over_the_split_are_counted() -> None:
    (note,) = leak_notes(town(25))
    assert note.startswith("leak: duplicates of person are in training and in validation: 25 of 60 validation nodes")
    assert "100.0% of those its label" in note


def test_few_duplicates_or_none_are_not_told() -> None:
    assert leak_notes(town(0)) == []
    assert leak_notes(town(3)) == []


def test_nodes_that_look_alike_with_other_labels_are_not_told() -> None:
    assert leak_notes(town(25, same_label=False)) == []


def test_the_same_look_is_the_same_features_and_neighbours() -> None:
    graph = town(25).graph
    found = looks(graph, "person")
    assert (found[180:205] == found[:25]).all()
    assert len(np.unique(found)) == PEOPLE - 25
