from __future__ import annotations

import pytest

from diffmg.datasets import load_dataset
from diffmg.space import SearchSpace
from diffmg.strategies.diffmg import DiffMG
from diffmg.task import Recommendation
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
    return load_dataset("douban")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {
        "user": 13367,
        "movie": 12677,
        "group": 2753,
        "actor": 6311,
        "director": 2449,
        "type": 38,
    }
    assert sum(network.graph.num_nodes.values()) == 37595


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    friends = 2 * 4085 - 2048  # both directions of each row; 2048 rows have their reverse in the file
    assert edges(network) == {
        "user -UU-> user": friends,
        "movie -UM-> user": 349735,
        "user -MU-> movie": 349735,
        "group -UG-> user": 570047,
        "user -GU-> group": 570047,
        "actor -MA-> movie": 33572,
        "movie -AM-> actor": 33572,
        "director -MD-> movie": 11276,
        "movie -DM-> director": 11276,
        "type -MT-> movie": 27668,
        "movie -TM-> type": 27668,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (2 * 209840, 2 * 69947, 2 * 69947)


@needs_data
def test_half_of_the_pairs_of_a_part_are_chosen_and_none_is_an_edge(network: Problem) -> None:
    task = network.task
    assert isinstance(task, Recommendation)
    assert {part: int(labelled.labels.sum()) for part, labelled in task.parts.items()} == {
        "train": 209840,
        "val": 69947,
        "test": 69947,
    }
    assert task.seen.nnz == 349735


@needs_data
def test_the_search_space_has_the_size_the_paper_says(network: Problem) -> None:
    assert SearchSpace.dag(network.graph.schema, "user", depth=4).size == 1_423_656_000


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("douban") == DiffMG(epsilon=0.0)
    assert train_settings("douban") == TrainSettings(weight_decay=0.0003, dropout=0.2, patience=None)
    assert published("douban").paper == {"auc": 83.78}
