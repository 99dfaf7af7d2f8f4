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
    return load_dataset("yelp")


@needs_data
def test_the_network_has_the_nodes_of_the_source(network: Problem) -> None:
    assert network.graph.num_nodes == {"user": 16239, "business": 14284, "compliment": 11, "category": 511, "city": 47}
    assert sum(network.graph.num_nodes.values()) == 31092


@needs_data
def test_the_network_has_the_edges_of_the_source(network: Problem) -> None:
    assert edges(network) == {
        "user -UU-> user": 158590,
        "business -UB-> user": 67088,
        "user -BU-> business": 67088,
        "compliment -UCo-> user": 76875,
        "user -CoU-> compliment": 76875,
        "category -BCa-> business": 40009,
        "business -CaB-> category": 40009,
        "city -BC-> business": 14267,
        "business -CB-> city": 14267,
    }


@needs_data
def test_the_split_is_that_of_the_source(network: Problem) -> None:
    assert split(network) == (2 * 40252, 2 * 13418, 2 * 13418)


@needs_data
def test_half_of_the_pairs_of_a_part_are_chosen_and_none_is_an_edge(network: Problem) -> None:
    task = network.task
    assert isinstance(task, Recommendation)
    assert {part: int(labelled.labels.sum()) for part, labelled in task.parts.items()} == {
        "train": 40252,
        "val": 13418,
        "test": 13418,
    }
    assert task.seen.nnz == 67088


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("yelp") == DiffMG(epsilon=0.0)
    assert train_settings("yelp") == TrainSettings(weight_decay=0.0005, dropout=0.6, patience=None)
    assert published("yelp").paper == {"auc": 68.77}
