from __future__ import annotations

import numpy as np
import pytest

from diffmg.core.metagraph import MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.shop import BOUGHT_BY, MAKES, Shop, make_shop
from diffmg.training import Training
from resuming import run

PARTS = ("train", "val", "test")


def pairs_of(problem, part: str) -> set[tuple[int, int]]:
    labelled = problem.task.parts[part]
    return set(zip(labelled.pairs.left.tolist(), labelled.pairs.right.tolist(), strict=True))


def test_five_types_and_nine_relations(recommendation):
    assert len(recommendation.graph.schema.node_types) == 5
    assert len(recommendation.graph.schema.relations) == 9


def test_no_supervised_pair_is_an_edge(recommendation):
    """Looked up one by one, in both directions."""
    graph = recommendation.graph
    bought = {(int(u), int(i)) for i, u in graph.edge_index(BOUGHT_BY).T}
    buys = {(int(u), int(i)) for u, i in graph.edge_index(Relation("user", "buys", "item")).T}
    assert bought == buys != set()
    assert not bought & set.union(*(pairs_of(recommendation, part) for part in PARTS))


def test_as_many_positives_as_negatives(recommendation):
    for part in PARTS:
        labels = recommendation.task.parts[part].labels
        assert labels.sum() == len(labels) / 2


def test_observed_pairs_are_known(recommendation):
    seen = {(int(u), int(i)) for i, u in recommendation.graph.edge_index(BOUGHT_BY).T}
    assert set(zip(*recommendation.task.known(()).nonzero(), strict=True)) == seen


def test_friendship_is_symmetric(recommendation):
    friends = recommendation.graph.adjacency[Relation("user", "friend", "user")]
    assert (friends != friends.T).nnz == 0


def test_planted_paths_are_of_the_network():
    user, item = Shop.planted
    assert (MAKES, BOUGHT_BY) in user.paths()
    assert (MAKES,) in item.paths()


def score_of(metagraphs: tuple[MetaGraph, ...]) -> float:
    job = Training(load_dataset("shop:1000"), metagraphs, Settings(dim=16, max_epochs=40), 0)
    run(job)
    return job.best_score


def test_the_planted_paths_tell_the_choice_and_the_features_do_not():
    assert score_of(Shop.planted) > 0.75
    assert score_of(tuple(MetaGraph.features_only(t) for t in ("user", "item"))) < 0.6


def test_a_large_network_has_its_counts():
    problem = load_dataset("shop:2e5")
    graph = problem.graph
    assert sum(graph.num_nodes.values()) == 200_000
    assert graph.adjacency[MAKES].nnz == graph.num_nodes["item"] == 100_000
    supervised = sum(problem.task.size(part) for part in PARTS)
    assert supervised == np.clip(supervised, 1.9 * 4 * 70_000, 2 * 4 * 70_000)


def labels_of(problem, part: str) -> dict[tuple[int, int], int]:
    labelled = problem.task.parts[part]
    ends = zip(labelled.pairs.left.tolist(), labelled.pairs.right.tolist(), strict=True)
    return dict(zip(ends, labelled.labels.tolist(), strict=True))


def test_a_harder_variant_adds_distractors_and_wrong_training_labels():
    plain, harder = make_shop(400, 3), make_shop(400, 3, distractors=2, label_noise=0.2)
    assert len(harder.graph.schema.relations) == len(plain.graph.schema.relations) + 5
    for relation in plain.graph.schema.relations:
        assert (plain.graph.adjacency[relation] != harder.graph.adjacency[relation]).nnz == 0
    right, noisy = labels_of(plain, "train"), labels_of(harder, "train")
    assert right.keys() == noisy.keys()
    assert np.mean([right[pair] != noisy[pair] for pair in right]) == pytest.approx(0.2, abs=0.02)
    assert all(labels_of(plain, part) == labels_of(harder, part) for part in ("val", "test"))
