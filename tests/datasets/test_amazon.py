"""Amazon."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_network, assert_pairs, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("amazon")
    assert_network(
        problem,
        {"user": 6170, "item": 2753, "brand": 334, "category": 22, "view": 3857},
        {
            "item -UI-> user": 73115,
            "user -IU-> item": 73115,
            "brand -IB-> item": 2753,
            "item -BI-> brand": 2753,
            "category -IC-> item": 5508,
            "item -CI-> category": 5508,
            "view -IV-> item": 5694,
            "item -VI-> view": 5694,
        },
    )
    assert_pairs(problem, 73115, {"train": 43869, "val": 14623, "test": 14623})


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("amazon") == DiffMG(lr=0.01, epsilon=0.5)
    assert train_settings("amazon") == Settings(dropout=0.6, patience=None)
    assert published("amazon").paper == {"auc": 75.28}
