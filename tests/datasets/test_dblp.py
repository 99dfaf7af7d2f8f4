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
    return load_dataset("dblp")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {"paper": 14328, "author": 4057, "conference": 20}
    assert sum(network.graph.num_nodes.values()) == 18405


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    assert edges(network) == {
        "author -PA-> paper": 19645,
        "paper -AP-> author": 19645,
        "conference -PC-> paper": 14328,
        "paper -CP-> conference": 14328,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (800, 400, 2857)


@needs_data
def test_labels_are_balanced_as_in_the_source(network: Problem) -> None:
    task = network.task
    assert isinstance(task, NodeClassification)
    counts = {part: task.labels[index].bincount().tolist() for part, index in task.parts.items()}
    assert counts == {"train": [200, 200, 200, 200], "val": [100, 100, 100, 100], "test": [897, 445, 809, 706]}
    assert int((task.labels >= 0).sum()) == 4057


@needs_data
def test_features_and_ids_are_those_of_the_source(network: Problem) -> None:
    assert sum(len(x.forward.values()) for x in network.graph.features.values()) == 103722
    assert {x.shape[1] for x in network.graph.features.values()} == {334}
    ranges = {t: (int(i.min()), int(i.max())) for t, i in network.graph.ids.items()}
    assert ranges == {"paper": (4057, 18384), "author": (0, 4056), "conference": (18385, 18404)}


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("dblp") == DiffMG(epochs=50, epsilon=0.0)
    assert train_settings("dblp") == TrainSettings(lr=0.005, dropout=0.3, max_epochs=100, patience=10, select="loss")
    assert published("dblp").paper == {"macro_f1": 94.45}
