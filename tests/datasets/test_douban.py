"""Douban Movie: 2048 rows of its friends have their reverse in the file, all get one."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_network, assert_pairs, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("douban")
    assert_network(
        problem,
        {"user": 13367, "movie": 12677, "group": 2753, "actor": 6311, "director": 2449, "type": 38},
        {
            "user -UU-> user": 2 * 4085 - 2048,
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
        },
    )
    assert_pairs(problem, 349735, {"train": 209840, "val": 69947, "test": 69947})
    assert SearchSpace.dag(problem.graph.schema, "user", depth=4).size == 1_423_656_000


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("douban") == DiffMG(epsilon=0.0)
    assert train_settings("douban") == Settings(weight_decay=0.0003, dropout=0.2, patience=None)
    assert published("douban").paper == {"auc": 83.78}
