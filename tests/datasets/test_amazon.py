from __future__ import annotations

import pytest

from diffmg.datasets import load_dataset
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
    return load_dataset("amazon")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {"user": 6170, "item": 2753, "brand": 334, "category": 22, "view": 3857}
    assert sum(network.graph.num_nodes.values()) == 13136


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    assert edges(network) == {
        "item -UI-> user": 73115,
        "user -IU-> item": 73115,
        "brand -IB-> item": 2753,
        "item -BI-> brand": 2753,
        "category -IC-> item": 5508,
        "item -CI-> category": 5508,
        "view -IV-> item": 5694,
        "item -VI-> view": 5694,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (2 * 43869, 2 * 14623, 2 * 14623)


@needs_data
def test_half_of_the_pairs_of_a_part_are_chosen_and_none_is_an_edge(network: Problem) -> None:
    task = network.task
    assert isinstance(task, Recommendation)
    assert {part: int(labelled.labels.sum()) for part, labelled in task.parts.items()} == {
        "train": 43869,
        "val": 14623,
        "test": 14623,
    }
    assert task.seen.nnz == 73115


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("amazon") == DiffMG(lr=0.01, epsilon=0.5)
    assert train_settings("amazon") == TrainSettings(dropout=0.6, patience=None)
    assert published("amazon").paper == {"auc": 75.28}
