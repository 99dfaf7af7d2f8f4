from __future__ import annotations

import pytest

from diffmg.datasets import load_dataset
from diffmg.strategies.diffmg import DiffMG
from diffmg.task import NodeClassification
from diffmg.train import Problem, TrainSettings
from real_data import (
    edges,
    needs_data,
    published,
    search_options,
    split,
    train_settings,
)


@pytest.fixture(scope="module")
def network() -> Problem:
    return load_dataset("acm")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {"paper": 3025, "author": 5912, "subject": 57}
    assert sum(network.graph.num_nodes.values()) == 8994


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    assert edges(network) == {
        "author -PA-> paper": 9936,
        "paper -AP-> author": 9936,
        "subject -PS-> paper": 3025,
        "paper -SP-> subject": 3025,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (600, 300, 2125)


@needs_data
def test_labels_are_balanced_as_in_the_source(network: Problem) -> None:
    task = network.task
    assert isinstance(task, NodeClassification)
    counts = {part: task.labels[index].bincount().tolist() for part, index in task.parts.items()}
    assert counts == {"train": [200, 200, 200], "val": [100, 100, 100], "test": [694, 670, 761]}
    assert int((task.labels >= 0).sum()) == 3025


@needs_data
def test_features_and_ids_are_those_of_the_source(network: Problem) -> None:
    assert sum(len(x.forward.values()) for x in network.graph.features.values()) == 986255
    assert {x.shape[1] for x in network.graph.features.values()} == {1902}
    ranges = {t: (int(i.min()), int(i.max())) for t, i in network.graph.ids.items()}
    assert ranges == {"paper": (0, 3024), "author": (3025, 8936), "subject": (8937, 8993)}


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("acm") == DiffMG(epochs=50, epsilon=0.3)
    assert train_settings("acm") == TrainSettings(
        weight_decay=0.005, dropout=0.4, layer_norm=False, tanh=True, max_epochs=100, patience=10, select="loss"
    )
    assert published("acm").paper == {"macro_f1": 92.65}
