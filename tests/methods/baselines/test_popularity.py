from __future__ import annotations

from math import log

import torch

from baseline_checks import CHOICES, shop
from diffmg.core.settings import Settings
from diffmg.methods.baselines.popularity import Popularity
from diffmg.training import ModelTraining

SETTINGS = Settings(dim=4)


def test_the_score_of_a_pair_is_the_log_of_the_count():
    problem = shop()
    model = Popularity().network(problem, SETTINGS, seed=0)
    with torch.no_grad():
        model.scale.fill_(0.3)
    users, items = model(problem.graph)
    counts = [sum(i == item for _, i in CHOICES) for item in range(4)]
    expected = torch.tensor([[0.3 * log(1 + c) for c in counts]] * 4)
    torch.testing.assert_close(users @ items.T, expected)
    assert list(model.state_dict()) == ["scale"]


def test_the_scale_learns():
    problem = shop()
    settings = Settings(dim=4, max_epochs=3, patience=None, weight_decay=0.0)
    model = Popularity().network(problem, settings, seed=0)
    problem.task.loss(model(problem.graph), "train").backward()
    assert model.scale.grad.abs() > 0
    job = ModelTraining(problem, model, settings, seed=0)
    losses = [record.train_loss for _ in range(3) for record in job.advance()]
    assert losses[2] < losses[0]
    assert job.best_score == 1.0
