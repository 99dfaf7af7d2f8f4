from __future__ import annotations

import pytest
import torch

from diffmg.core.settings import Settings
from diffmg.methods.baselines.matrix_factorisation import MatrixFactorisation
from diffmg.training import ModelTraining
from small_networks import NODES, small_recommendation

SETTINGS = Settings(dim=4)


def test_the_score_of_a_pair_is_the_dot_product_and_both_biases():
    problem = small_recommendation()
    model = MatrixFactorisation().network(problem, SETTINGS, seed=0)
    with torch.no_grad():
        model.user_bias.copy_(torch.arange(NODES["a"]).unsqueeze(1))
        model.item_bias.copy_(-torch.arange(NODES["c"]).unsqueeze(1) / 2)
    users, items = model(problem.graph)
    for u in range(NODES["a"]):
        for i in range(NODES["c"]):
            expected = (
                sum(p * q for p, q in zip(model.user[u].tolist(), model.item[i].tolist(), strict=True)) + u - i / 2
            )
            assert (users[u] @ items[i]).item() == pytest.approx(expected, abs=1e-5)


def test_it_learns_what_it_is_shown(recommendation):
    settings = Settings(dim=8, lr=0.05, weight_decay=0.0, max_epochs=30, patience=None)
    model = MatrixFactorisation().network(recommendation, settings, seed=0)
    job = ModelTraining(recommendation, model, settings, seed=0)
    while not job.done:
        job.advance()
    assert recommendation.task.scores(job.model(recommendation.graph), "train")["auc"] > 0.95
