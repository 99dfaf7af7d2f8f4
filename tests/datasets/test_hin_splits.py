from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from diffmg.datasets import DATASETS
from diffmg.datasets.hin import HinDataset
from diffmg.tasks.ratings import Ratings, fresh_split
from experiments.data.convert import authors_split
from protocol import PARTS, assert_follows_the_protocol, codes
from real_data import needs_data


def real(name: str) -> tuple[HinDataset, Ratings]:
    dataset = DATASETS.get(name)(name)
    assert isinstance(dataset, HinDataset)
    root = Path(os.environ["DIFFMG_DATA"])
    return dataset, dataset.read_ratings(root / dataset.folder / dataset.ratings)


@needs_data
@pytest.mark.parametrize(("name", "seed"), [("yelp", 7), ("amazon", 0), ("douban", 123456789)])
def test_real_ratings_are_split_in_seconds_by_the_protocol(name: str, seed: int) -> None:
    start = time.monotonic()
    dataset, ratings = real(name)
    split = fresh_split(ratings, seed)
    problem = dataset.with_split(seed).load(root=None)
    assert time.monotonic() - start < 20
    assert_follows_the_protocol(split, ratings)
    card = dataset.card()
    assert len(split["observed"]) == card.ratings["observed"] == problem.task.seen.nnz
    for part in PARTS:
        assert problem.task.size(part) == sum(card.parts[part].values()) == 2 * len(split[f"pos_{part}"])
    for relation in problem.graph.schema.relations:
        if {relation.source, relation.target} == {dataset.user, dataset.item}:
            edges = problem.graph.adjacency[relation].nonzero()
            pairs = np.stack(edges if relation.target == dataset.user else edges[::-1], axis=1)
            assert np.array_equal(codes(pairs, ratings), codes(split["observed"], ratings))


@needs_data
@pytest.mark.parametrize(
    "name",
    [
        "amazon",
        "douban",
        pytest.param(
            "yelp",
            marks=pytest.mark.skipif(not os.environ.get("DIFFMG_SLOW"), reason="DIFFMG_SLOW is not set: 20 s, 1 GB"),
        ),
    ],
)
def test_the_split_of_the_authors_comes_from_their_seeds(name: str) -> None:
    dataset, ratings = real(name)
    split = authors_split(ratings, dataset.seeds)
    with np.load(Path(os.environ["DIFFMG_DATA"]) / dataset.folder / "split.npz") as file:
        assert list(file.files) == list(split)
        for key, rows in split.items():
            assert rows.dtype == file[key].dtype
            np.testing.assert_array_equal(rows, file[key], err_msg=key)


@needs_data
def test_most_of_the_split_of_yelp_comes_from_the_seeds_of_the_authors() -> None:
    """All but the negative pairs, which the authors drew from 232 million: see above."""
    dataset, ratings = real("yelp")
    few = Ratings(ratings.pairs, np.where(ratings.stars > 3, 5, 1), ratings.shape)
    enough = Ratings.build(
        np.concatenate([few.pairs, few.unrated(np.arange(3000))]), np.append(few.stars, np.ones(3000)), few.shape
    )
    split = authors_split(enough, dataset.seeds)
    with np.load(Path(os.environ["DIFFMG_DATA"]) / dataset.folder / "split.npz") as file:
        for key in ("observed", "pos_train", "pos_val", "pos_test"):
            np.testing.assert_array_equal(split[key], file[key])
