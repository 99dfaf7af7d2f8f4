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
    return load_dataset("imdb")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {"movie": 4661, "director": 2270, "actor": 5841}
    assert sum(network.graph.num_nodes.values()) == 12772


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    assert edges(network) == {
        "director -MD-> movie": 4661,
        "movie -DM-> director": 4661,
        "actor -MA-> movie": 13983,
        "movie -AM-> actor": 13983,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (300, 300, 2339)


@needs_data
def test_labels_are_balanced_as_in_the_source(network: Problem) -> None:
    task = network.task
    assert isinstance(task, NodeClassification)
    counts = {part: task.labels[index].bincount().tolist() for part, index in task.parts.items()}
    assert counts == {"train": [100, 100, 100], "val": [100, 100, 100], "test": [343, 724, 1272]}
    assert int((task.labels >= 0).sum()) == 2939


@needs_data
def test_features_and_ids_are_those_of_the_source(network: Problem) -> None:
    assert sum(len(x.forward.values()) for x in network.graph.features.values()) == 68651
    assert {x.shape[1] for x in network.graph.features.values()} == {1256}
    ranges = {t: (int(i.min()), int(i.max())) for t, i in network.graph.ids.items()}
    assert ranges == {"movie": (0, 4660), "director": (4661, 6930), "actor": (6931, 12771)}


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("imdb") == DiffMG(epochs=50, epsilon=0.3)
    assert train_settings("imdb") == TrainSettings(
        weight_decay=0.01, dropout=0.7, max_epochs=100, patience=10, select="loss"
    )
    assert published("imdb").paper == {"macro_f1": 61.04}
