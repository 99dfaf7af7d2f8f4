"""ACM."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_labels, assert_network, assert_words, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("acm")
    assert_network(
        problem,
        {"paper": 3025, "author": 5912, "subject": 57},
        {
            "author -PA-> paper": 9936,
            "paper -AP-> author": 9936,
            "subject -PS-> paper": 3025,
            "paper -SP-> subject": 3025,
        },
    )
    assert_words(problem, 986255, 1902, {"paper": (0, 3024), "author": (3025, 8936), "subject": (8937, 8993)})
    assert_labels(problem, {"train": [200] * 3, "val": [100] * 3, "test": [694, 670, 761]})


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("acm") == DiffMG(epochs=50, epsilon=0.3)
    assert train_settings("acm") == Settings(
        weight_decay=0.005, dropout=0.4, layer_norm=False, tanh=True, max_epochs=100, patience=10, select="loss"
    )
    assert published("acm").paper == {"macro_f1": 92.65}
