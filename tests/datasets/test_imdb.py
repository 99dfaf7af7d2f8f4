"""IMDB: 12772 nodes, where the paper says 12624; 2939 of the movies have a label."""

from __future__ import annotations

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.search.diffmg import DiffMG
from real_data import assert_labels, assert_network, assert_words, needs_data, published, search_options, train_settings


@needs_data
def test_the_network_is_that_of_the_source() -> None:
    problem = load_dataset("imdb")
    assert_network(
        problem,
        {"movie": 4661, "director": 2270, "actor": 5841},
        {
            "director -MD-> movie": 4661,
            "movie -DM-> director": 4661,
            "actor -MA-> movie": 13983,
            "movie -AM-> actor": 13983,
        },
    )
    assert_words(problem, 68651, 1256, {"movie": (0, 4660), "director": (4661, 6930), "actor": (6931, 12771)})
    assert_labels(problem, {"train": [100] * 3, "val": [100] * 3, "test": [343, 724, 1272]})


def test_the_published_settings_are_those_of_the_authors() -> None:
    assert search_options("imdb") == DiffMG(epochs=50, epsilon=0.3)
    assert train_settings("imdb") == Settings(
        weight_decay=0.01, dropout=0.7, max_epochs=100, patience=10, select="loss"
    )
    assert published("imdb").paper == {"macro_f1": 61.04}
