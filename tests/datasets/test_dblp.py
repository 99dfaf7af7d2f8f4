"""DBLP."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_labels, assert_network, assert_words, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("dblp")
    assert_network(
        problem,
        {"paper": 14328, "author": 4057, "conference": 20},
        {
            "author -PA-> paper": 19645,
            "paper -AP-> author": 19645,
            "conference -PC-> paper": 14328,
            "paper -CP-> conference": 14328,
        },
    )
    assert_words(problem, 103722, 334, {"paper": (4057, 18384), "author": (0, 4056), "conference": (18385, 18404)})
    assert_labels(problem, {"train": [200] * 4, "val": [100] * 4, "test": [897, 445, 809, 706]})


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("dblp") == DiffMG(epochs=50, epsilon=0.0)
    assert train_settings("dblp") == Settings(lr=0.005, dropout=0.3, max_epochs=100, patience=10, select="loss")
    assert published("dblp").paper == {"macro_f1": 94.45}
