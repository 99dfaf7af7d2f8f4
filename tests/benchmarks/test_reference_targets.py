from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from benchmarks.reference_targets import NodeTargets, PairTargets, targets_of
from diffmg.core.errors import DiffmgError
from diffmg.tasks import Task


def outputs_for(task: Task, seed: int = 0) -> tuple[Tensor, ...]:
    draw = torch.Generator().manual_seed(seed)
    if task.outputs:
        return (torch.randn(len(task.labels), task.outputs, generator=draw),)
    return tuple(torch.randn(n, 5, generator=draw).round(decimals=0) for n in task.shape)


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_losses_and_scores_are_ours(problem, part):
    metrics = ("macro_f1", "micro_f1", "accuracy") if problem.task.outputs else ("auc", "average_precision")
    for metric in metrics:
        task = replace(problem.task, metric=metric)
        outputs, targets = outputs_for(task), targets_of(task)
        predicted = targets.predicted(outputs, part)
        assert float(targets.loss(predicted, part)) == pytest.approx(float(task.loss(outputs, part)), rel=1e-5)
        score = targets.score(predicted, part)
        assert score == pytest.approx(float(task.scores(outputs, part)[metric]), rel=1e-6)
        assert 0 < score < 1


def test_the_gradient_of_the_loss_is_ours(problem):
    task, targets = problem.task, targets_of(problem.task)
    ours, theirs = ([x.requires_grad_() for x in outputs_for(task)] for _ in range(2))
    task.loss(tuple(ours), "train").backward()
    targets.loss(targets.predicted(tuple(theirs), "train"), "train").backward()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(b.grad, a.grad)


def test_kinds_of_targets(classification, recommendation):
    assert isinstance(targets_of(classification.task), NodeTargets)
    assert isinstance(targets_of(recommendation.task), PairTargets)
    with pytest.raises(DiffmgError, match="knows NodeClassification and Recommendation,"):
        targets_of("links")
