from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines import metapath2vec
from diffmg.methods.baselines._base import starts_of
from diffmg.methods.baselines._paths import paths_by_target
from diffmg.methods.baselines.metapath2vec import (
    Metapath2Vec,
    noise_distribution,
    skip_gram,
    skip_gram_loss,
    stacked_walks,
)
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import ModelTraining
from small_networks import NODES, small_classification, small_recommendation

SETTINGS = Settings(dim=4, max_epochs=3, patience=None)
QUICK = {"walks": 2, "length": 6, "window": 2}


def test_walks_follow_the_relations_of_their_path_again_and_again():
    problem = small_recommendation()
    graph, starts = problem.graph, starts_of(problem.graph)
    options = Metapath2Vec(("a -ab2-> b -> a", "c -> b -> a -> c"), **QUICK)
    paths = paths_by_target(graph, ("a", "c"), options.paths)
    walks = stacked_walks(graph, paths, options, np.random.default_rng(0))
    assert walks.shape[1] == 6
    for row in walks.tolist():
        target = next(t for t in ("a", "c") if starts[t] <= row[0] < starts[t] + NODES[t])
        back = paths[target][0][::-1]
        for place, (here, there) in enumerate(pairwise(row)):
            relation = back[place % len(back)]
            if there >= 0:
                ends = [there - starts[relation.source]], [here - starts[relation.target]]
                assert graph.has_edges(relation, *ends).all()


def test_walks_start_everywhere_as_often_as_asked():
    edges = {("a", "r", "b"): [[0, 1], [0, 1]]}
    graph = HeteroGraph.build({"b": 2, "a": 3}, edges, reverse=True)
    options = Metapath2Vec(**QUICK)
    walks = stacked_walks(graph, paths_by_target(graph, ("a",)), options, np.random.default_rng(0))
    assert walks.tolist() == [[2, 0, 2, 0, 2, 0]] * 2 + [[3, 1, 3, 1, 3, 1]] * 2, "a2 is alone and has none"


def test_the_loss_is_the_sum_over_pairs_in_windows():
    draw = torch.Generator().manual_seed(0)
    centres, contexts = (torch.randn(7, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    walks = torch.tensor([[0, 1, 2, 0, 5], [3, 4, 3, -1, -1]])
    noise = torch.tensor([[6, 1, 0, 2, 2], [4, 5, 6, 0, 3]])

    def log_sigmoid(x: float) -> float:
        return -log(1 + exp(-x))

    total, pairs = 0.0, 0
    for row, drawn in zip(walks.tolist(), noise.tolist(), strict=True):
        for i, v in enumerate(row):
            for j, u in enumerate(row):
                if i != j and abs(i - j) <= 2 and v >= 0 and u >= 0:
                    unmet = [log_sigmoid(-float(centres[v] @ contexts[n])) for n in drawn]
                    total -= log_sigmoid(float(centres[v] @ contexts[u])) + 3 * sum(unmet) / len(unmet)
                    pairs += 1
    found = skip_gram_loss(centres, contexts, walks, noise, Metapath2Vec(window=2, negatives=3))
    assert float(found) == pytest.approx(total / pairs)


def test_noise_goes_by_visits():
    walks = np.array([[0, 1, 0, -1], [0, 2, 0, 1]])
    chances = noise_distribution(walks, 4)
    assert chances == pytest.approx(np.array([4, 2, 1, 0]) ** 0.75 / (4**0.75 + 2**0.75 + 1))


def test_nodes_that_meet_come_together():
    walks = np.tile(np.array([[0, 1] * 5, [2, 3] * 5, [4, 5] * 5]), (40, 1))
    z = skip_gram(walks, 6, 8, Metapath2Vec(window=2, epochs=5), 0)
    assert float(z.square().mean()) == pytest.approx(1, abs=1e-5)
    closeness = torch.nn.functional.normalize(z) @ torch.nn.functional.normalize(z).T
    for a, b in ((0, 1), (2, 3), (4, 5)):
        others = [n for n in range(6) if n not in (a, b)]
        assert closeness[a, b] > closeness[a, others].max()


def test_it_tells_two_communities_apart():
    """Two groups of authors that never write together, and a label by group."""
    rng = np.random.default_rng(0)
    authors, papers = rng.integers(0, 15, 120), rng.integers(0, 20, 120)
    group = np.arange(120) % 2
    edges = {("author", "writes", "paper"): np.stack([authors + 15 * group, papers + 20 * group])}
    graph = HeteroGraph.build({"author": 30, "paper": 40}, edges, reverse=True)
    order = rng.permutation(30)
    task = NodeClassification.build("author", np.arange(30) // 15, train=order[:6], val=order[6:])
    problem, settings = Problem(graph, task), Settings(dim=8, max_epochs=60, patience=None)
    model = Metapath2Vec(epochs=3).network(problem, settings, 0)
    training = ModelTraining(problem, model, settings, 0)
    while not training.done:
        training.advance()
    assert training.best_score > 0.9


@pytest.fixture
def cache(monkeypatch):
    """The cache of embeddings, empty at first."""
    monkeypatch.setattr(metapath2vec, "CACHE", {})
    return metapath2vec.CACHE


def test_the_same_seed_gives_the_same_embeddings(problem, cache):
    found = []
    for seed in (0, 0, 1):
        cache.clear()
        found.append(Metapath2Vec(**QUICK).network(problem, SETTINGS, seed)(problem.graph))
    first, again, other = found
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])


def test_vectors_are_found_once_for_all_that_they_follow_from(problem, cache):
    options = Metapath2Vec(**QUICK)
    first = options.vectors(problem, 4, 0)
    copied = Problem(HeteroGraph(**vars(problem.graph)), problem.task)
    assert Metapath2Vec(**QUICK).vectors(copied, 4, 0) is first
    others = [
        options.vectors(problem, 4, 1),
        Metapath2Vec(**QUICK | {"window": 1}).vectors(problem, 4, 0),
        options.vectors(problem, 5, 0),
    ]
    assert len(cache) == 4
    assert all(first.shape != other.shape or not torch.equal(first, other) for other in others)


def test_vectors_of_other_edges_or_targets_are_others(cache):
    options, problem = Metapath2Vec(**QUICK), small_recommendation()
    first = options.vectors(problem, 4, 0)
    assert not torch.equal(options.vectors(small_classification(), 4, 0), first)
    fewer = {r: a.copy() for r, a in problem.graph.adjacency.items()}
    for matrix in fewer.values():
        matrix.data[::2] = 0
    other = Problem(replace(problem.graph, adjacency=fewer), problem.task)
    assert not torch.equal(options.vectors(other, 4, 0), first)


def test_only_the_last_embeddings_are_cached(problem, cache):
    options = Metapath2Vec(**QUICK)
    found = [options.vectors(problem, 4, seed) for seed in range(6)]
    assert len(cache) == metapath2vec.CACHE_SIZE
    assert options.vectors(problem, 4, 2) is found[2]
    again = options.vectors(problem, 4, 1)
    assert again is not found[1]
    assert torch.equal(again, found[1])


def test_models_do_not_share_the_cached_embeddings(problem, cache):
    options = Metapath2Vec(**QUICK)
    options.network(problem, SETTINGS, 0).tower0.zero_()
    assert options.network(problem, SETTINGS, 0).tower0.any()


def test_the_embeddings_stay_as_they_are_and_the_rest_learns(problem):
    model = Metapath2Vec(**QUICK).network(problem, SETTINGS, 0)
    before = [b.clone() for b in model.buffers()]
    training = ModelTraining(problem, model, SETTINGS, 0)
    training.advance()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, model.buffers(), strict=True))


def test_pairs_are_scored_by_the_scaled_dot_product():
    model = Metapath2Vec(("a -> a", "c -> b -> a -> c"), **QUICK).network(small_recommendation(), SETTINGS, 0)
    users, items = model(small_recommendation().graph)
    assert users.shape == (NODES["a"], 4)
    assert items.shape == (NODES["c"], 4)
    torch.testing.assert_close(users @ items.T, model.scale * (model.tower0 @ model.tower1.T))


def test_a_network_where_no_walk_goes_anywhere():
    graph = HeteroGraph.build({"a": 4}, {("a", "r", "a"): [[0], [1]]}, weights={("a", "r", "a"): [0.0]})
    task = NodeClassification.build("a", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    model = Metapath2Vec(**QUICK).network(Problem(graph, task), SETTINGS, 0)
    assert model(graph)[0].isfinite().all()


def test_classes_follow_from_a_linear_map():
    model = Metapath2Vec("b -> b", **QUICK).network(small_classification(), SETTINGS, 0)
    (logits,) = model(small_classification().graph)
    torch.testing.assert_close(logits, model.tower0 @ model.head.weight + model.head.bias)


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 1},
        {"walks": 0},
        {"window": 0},
        {"negatives": 0},
        {"epochs": 0},
        {"rate": 0},
        {"rate": "high"},
        {"paths": 3},
    ],
)
def test_bad_options(wrong):
    with pytest.raises(DiffmgError, match=next(iter(wrong))):
        Metapath2Vec(**wrong)
