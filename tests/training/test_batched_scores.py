"""Scores with a slot axis, against the scores of each slot alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from diffmg.tasks import NodeClassification, NodeRegression
from diffmg.tasks.metrics import auc_of
from diffmg.training.batched_scores import Classes, Numbers, batched_auc


def test_auc_of_every_row_with_ties_zeros_of_both_signs_and_infinities():
    draw = torch.Generator().manual_seed(0)
    scores = torch.randint(-4, 5, (6, 40), generator=draw) / 3.0
    scores[1] *= -0.0
    scores[2, :3] = torch.tensor([torch.inf, -torch.inf, 1e-40])
    found = batched_auc(scores[:, :15], scores[:, 15:])
    assert torch.equal(found, torch.stack([auc_of(row[:15], row[15:]) for row in scores]))


def test_auc_of_a_row_that_diverged():
    scores = torch.randn(3, 10, generator=torch.Generator().manual_seed(0))
    scores[1, 4] = torch.nan
    found = batched_auc(scores[:, :6], scores[:, 6:])
    assert found.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("weight", [None, "balanced", {0: 2.5}], ids=str)
@pytest.mark.parametrize("metric", NodeClassification.metrics)
@pytest.mark.parametrize(("multilabel", "classes"), [(False, 2), (False, 3), (True, 3)])
def test_classification_of_every_slot(metric, multilabel, classes, weight):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (30, classes)) if multilabel else rng.integers(0, classes, 30)
    labels[:classes] = np.eye(classes) if multilabel else np.arange(classes)
    options = {"metric": metric, "class_weight": weight}
    task = NodeClassification.build("a", labels, train=range(12), val=range(12, 24), **options)
    draw = torch.Generator().manual_seed(1)
    rows, weight, bias = (torch.randn(4, *size, generator=draw) for size in ((30, 5), (5, classes), (classes,)))
    model = SimpleNamespace(parameters={"head.weight": weight, "head.bias": bias})
    rows[3, 20] = torch.nan
    losses, scores = Classes(task).evaluate(model, (rows,))
    for slot in range(4):
        loss, score = task.evaluate((rows[slot] @ weight[slot] + bias[slot],), "val")
        assert torch.allclose(losses[slot], loss, equal_nan=True)
        assert torch.allclose(scores[slot].double(), score.double(), equal_nan=True)


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
@pytest.mark.parametrize("loss", ["mae", "huber", "mse"])
def test_regression_of_every_slot(metric, loss):
    values = np.random.default_rng(0).normal(5, 3, (30, 2))
    task = NodeRegression.build("a", values, train=range(12), val=range(12, 24), metric=metric, loss=loss)
    draw = torch.Generator().manual_seed(1)
    rows, weight, bias = (torch.randn(4, *size, generator=draw) for size in ((30, 5), (5, 2), (2,)))
    model = SimpleNamespace(parameters={"head.weight": weight, "head.bias": bias})
    rows[3, 20] = torch.nan
    losses, scores = Numbers(task).evaluate(model, (rows,))
    (by_rows,), by_head = Numbers(task).gradients(model, (rows,))
    for slot in range(4):
        found = task.evaluate((rows[slot] @ weight[slot] + bias[slot],), "val")
        assert torch.allclose(losses[slot], found[0], equal_nan=True)
        assert torch.allclose(scores[slot], found[1], equal_nan=True)
        if slot == 3:  # its NaN would be multiplied with
            continue
        leaves = [t[slot].clone().requires_grad_() for t in (rows, weight, bias)]
        wanted = torch.autograd.grad(task.loss((leaves[0] @ leaves[1] + leaves[2],), "train"), leaves)
        for got, want in zip((by_rows, by_head["head.weight"], by_head["head.bias"]), wanted, strict=True):
            torch.testing.assert_close(got[slot], want)
