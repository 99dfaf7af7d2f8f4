"""Yelp."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_network, assert_pairs, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("yelp")
    assert_network(
        problem,
        {"user": 16239, "business": 14284, "compliment": 11, "category": 511, "city": 47},
        {
            "user -UU-> user": 158590,
            "business -UB-> user": 67088,
            "user -BU-> business": 67088,
            "compliment -UCo-> user": 76875,
            "user -CoU-> compliment": 76875,
            "category -BCa-> business": 40009,
            "business -CaB-> category": 40009,
            "city -BC-> business": 14267,
            "business -CB-> city": 14267,
        },
    )
    assert_pairs(problem, 67088, {"train": 40252, "val": 13418, "test": 13418})


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("yelp") == DiffMG(epsilon=0.0)
    assert train_settings("yelp") == Settings(weight_decay=0.0005, dropout=0.6, patience=None)
    assert published("yelp").paper == {"auc": 68.77}
