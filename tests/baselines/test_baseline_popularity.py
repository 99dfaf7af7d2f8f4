from __future__ import annotations

from math import log

import numpy as np
import pytest
import torch

from diffmg.baselines.popularity import Popularity, observed_choices
from diffmg.errors import DiffmgError
from diffmg.graph import HeteroGraph
from diffmg.task import Recommendation
from diffmg.train import ModelTraining, Problem, TrainSettings

SETTINGS = TrainSettings(dim=4)
CHOICES = {(0, 0), (1, 0), (2, 0), (0, 1), (2, 2)}
"""Of users 0 to 3 among items 0 to 3; user 3 chose nothing, nobody chose item 3."""


def shop(relations: dict | None = None) -> Problem:
    """Bought, its reverse, and a weighted click that repeats one choice and adds one."""
    edges = relations or {
        ("u", "bought", "i"): np.array([[0, 1, 2, 0], [0, 0, 0, 1]]),
        ("i", "rev_bought", "u"): np.array([[0, 0, 0, 1], [0, 1, 2, 0]]),
        ("i", "clicked", "u"): np.array([[0, 2], [0, 2]]),
        ("u", "knows", "u"): np.array([[0, 3], [3, 0]]),
    }
    weights = {("i", "clicked", "u"): [0.0, 5.0]} if relations is None else {}
    graph = HeteroGraph.build({"u": 4, "i": 4}, edges, weights=weights)
    positives = {"train": [[3, 0], [1, 1]], "val": [[3, 1]]}
    negatives = {"train": [[0, 3], [1, 3]], "val": [[3, 3]]}
    return Problem(graph, Recommendation.build("u", "i", (4, 4), positives, negatives))


def test_choices_are_counted_once_whatever_the_relation_direction_and_weight():
    found = observed_choices(shop()).toarray()
    assert {(int(u), int(i)) for u, i in zip(*np.nonzero(found), strict=True)} == CHOICES
    assert set(np.unique(found)) == {0.0, 1.0}


def test_the_score_of_a_pair_is_the_log_of_the_count():
    problem = shop()
    model = Popularity().build(problem, SETTINGS, seed=0)
    with torch.no_grad():
        model.scale.fill_(0.3)
    users, items = model(problem.graph)
    counts = [sum(i == item for _, i in CHOICES) for item in range(4)]
    expected = torch.tensor([[0.3 * log(1 + c) for c in counts]] * 4)
    torch.testing.assert_close(users @ items.T, expected)
    assert list(model.state_dict()) == ["scale"]


def test_the_scale_learns():
    problem = shop()
    settings = TrainSettings(dim=4, max_epochs=3, patience=None, weight_decay=0.0)
    model = Popularity().build(problem, settings, seed=0)
    problem.task.loss(model(problem.graph), "train").backward()
    assert model.scale.grad.abs() > 0
    job = ModelTraining(problem, model, settings, seed=0)
    losses = [record.train_loss for _ in range(3) for record in job.advance()]
    assert losses[2] < losses[0]
    assert job.best_score == 1.0


def test_classification_is_refused(classification):
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation, but got NodeClassification"):
        Popularity().build(classification, SETTINGS, seed=0)


def test_a_network_without_choices_is_refused():
    with pytest.raises(DiffmgError, match="relation between 'u' and 'i', but got only"):
        Popularity().build(shop({("u", "knows", "u"): np.array([[0], [1]])}), SETTINGS, seed=0)
