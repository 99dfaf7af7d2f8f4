from __future__ import annotations

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets._made import (
    both_ways,
    check_variant,
    counts,
    distractor_edges,
    found,
    hint,
    mislabelled,
    noise,
    numbered,
    pick_in_group,
    random_edges,
)
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY, Academic
from diffmg.datasets.shop import Shop
from diffmg.methods.search.random import RandomMetaGraph


def test_counts_follow_the_shares():
    assert counts(1000, {"a": 0.7, "b": 0.3}, least=5) == {"a": 700, "b": 300}


def test_counts_keep_a_least_number():
    assert counts(100, {"a": 0.99, "b": 0.01}, least=8) == {"a": 99, "b": 8}


def test_counts_of_too_small_a_size():
    with pytest.raises(DiffmgError, match="but got size=19"):
        counts(19, {"a": 0.5, "b": 0.5}, least=5)


def test_pick_in_group_picks_members_of_the_group():
    groups = np.array([2, 0, 1, 0, 2, 2])
    wanted = np.array([0, 1, 2] * 500)
    picked = pick_in_group(np.random.default_rng(0), wanted, groups)
    assert (groups[picked] == wanted).all()


def test_pick_in_group_is_uniform():
    groups = np.array([2, 0, 1, 0, 2, 2])
    picked = pick_in_group(np.random.default_rng(0), np.full(3000, 2), groups)
    share = np.bincount(picked, minlength=6) / 3000
    assert share[[0, 4, 5]] == pytest.approx(1 / 3, abs=0.04)


def test_both_ways_gives_a_relation_and_its_reverse():
    edges = np.array([[0, 1, 2], [5, 5, 3]])
    made = both_ways(Relation("a", "r", "b"), "back", edges)
    assert list(made) == [Relation("a", "r", "b"), Relation("b", "back", "a")]
    assert made[Relation("b", "back", "a")].tolist() == [[5, 5, 3], [0, 1, 2]]


def test_random_edges_give_each_target_its_degree():
    edges = random_edges(np.random.default_rng(0), sources=4, targets=6, degree=3)
    assert np.bincount(edges[1]).tolist() == [3] * 6
    assert set(edges[0]) <= set(range(4))


def test_noise_is_normal():
    x = noise(np.random.default_rng(0), 2000, 4)
    assert x.dtype == np.float32
    assert x.mean() == pytest.approx(0, abs=0.05)
    assert x.std() == pytest.approx(1, abs=0.05)


def test_hint_tells_the_group():
    """The nearest centre is the right one far more often than by chance."""
    groups = np.arange(400) % 4
    x = hint(np.random.default_rng(1), groups, columns=16, strength=1.0)
    centres = np.stack([x[groups == g].mean(axis=0) for g in range(4)])
    nearest = np.linalg.norm(x[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == groups).mean() > 0.9


def test_hint_of_no_strength_is_noise():
    groups = np.arange(8) % 4
    plain = noise(np.random.default_rng(1), 8, 3)
    assert np.array_equal(hint(np.random.default_rng(1), groups, 3, strength=0.0), plain)


def test_numbered_distractors_are_others_of_the_same_degree():
    one = {(Relation("a", "r", "b"), "back"): 3}
    assert numbered(one, 2) == {(Relation("a", "r_2", "b"), "back_2"): 3}


def test_distractor_edges_go_both_ways():
    edges = distractor_edges(np.random.default_rng(0), {"a": 4, "b": 6}, {(Relation("a", "r", "b"), "back"): 3})
    assert np.array_equal(edges[Relation("a", "r", "b")], edges[Relation("b", "back", "a")][::-1])
    assert np.bincount(edges[Relation("a", "r", "b")][1]).tolist() == [3] * 6


def test_mislabelled_changes_a_share_of_these_nodes():
    labels, nodes = np.arange(100) % 3, np.arange(50)
    changed = mislabelled(np.random.default_rng(0), labels, nodes, classes=3, share=0.2)
    assert (changed[nodes] != labels[nodes]).sum() == 10
    assert np.array_equal(changed[50:], labels[50:])
    assert set(changed) <= {0, 1, 2}


@pytest.mark.parametrize("bad", [{"distractors": 0}, {"label_noise": 1.0}, {"label_noise": -0.1}])
def test_variants_that_cannot_be(bad):
    (name, value), *_ = bad.items()
    with pytest.raises(DiffmgError, match=f"but got {name}={value}"):
        check_variant(**{"distractors": 1, "label_noise": 0.0, **bad})


def by_hand(metagraph: MetaGraph, k: int, node_type: str) -> set[tuple[Relation, ...]]:
    """Every path into a state, one link after the other."""
    if k == 0:
        return {()}
    paths = set()
    for i in range(k):
        for operation in metagraph[k, i]:
            if operation is not EMPTY:
                paths |= by_hand(metagraph, i, node_type)
            if isinstance(operation, Relation) and operation.target == node_type:
                paths |= {(*path, operation) for path in by_hand(metagraph, i, operation.source)}
    return paths


@pytest.mark.parametrize("seed", range(10))
def test_found_is_whether_the_planted_path_is_among_the_paths(seed, classification):
    random = RandomMetaGraph(depth=3).search(classification, Settings(), seed).found()
    expected = (PUBLISHES, WRITTEN_BY) in by_hand(random[0], 3, "author")
    assert found(random, Academic.planted) == expected
    assert found([*random, *Academic.planted], Academic.planted)


def test_every_tower_must_be_found():
    user, item = Shop.planted
    assert found([item, user], Shop.planted)
    assert not found([user], Shop.planted)
    assert not found([user, MetaGraph.features_only("item")], Shop.planted)


@pytest.mark.parametrize("name", ["academic:1e15", "shop:1e15", "films:1e6"])
def test_what_is_too_large_is_refused_before_it_is_made(name):
    with pytest.raises(DiffmgError, match=r"`size <= \d+` must hold"):
        load_dataset(name)


def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("diffmg.datasets._made.free_bytes", lambda _: 10_000_000)
    with pytest.raises(DiffmgError, match=r"must fit into memory, but got size=20000, about .*choose a smaller size"):
        load_dataset("academic:20000")
    assert load_dataset("academic:2000").graph.num_nodes["author"] == 600
