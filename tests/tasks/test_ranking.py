"""Metrics of an order: against scikit-learn, class by class."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from diffmg.tasks.ranking import RANKED, effective_size, has_order, marks_of, ranking_score

ORACLES = {"roc_auc": sk.roc_auc_score, "average_precision": sk.average_precision_score}
by_metric = pytest.mark.parametrize("metric", RANKED)


def expected(metric: str, scores: np.ndarray, marks: np.ndarray) -> float:
    """The mean over columns in which scikit-learn defines the metric."""
    least = 1 if metric == "average_precision" else 0
    columns = [c for c in range(marks.shape[1]) if 0 < marks[:, c].sum() < len(marks) + least]
    return float(np.mean([ORACLES[metric](marks[:, c], scores[:, c]) for c in columns])) if columns else np.nan


@st.composite
def answers(draw: st.DrawFn, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits with many ties (n, C), and class numbers (n,); some classes may be missing."""
    n = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    logits = rng.integers(-2, 3, (n, classes)) * draw(st.sampled_from([0.5, 30.0]))
    return torch.from_numpy(logits.astype(np.float32)), torch.from_numpy(rng.integers(0, classes, n))


@by_metric
@pytest.mark.parametrize("positive", [0, 1])
@given(sample=answers(2))
def test_of_two_classes_it_is_that_of_the_positive_one(metric, positive, sample):
    logits, labels = sample
    marks = marks_of(labels, 2, positive)
    found = float(ranking_score(metric, logits, marks, positive, multilabel=False))
    odds = (logits[:, positive] - logits[:, 1 - positive]).double().numpy()
    assert found == pytest.approx(expected(metric, odds[:, None], (labels == positive).numpy()[:, None]), nan_ok=True)


@by_metric
@given(sample=answers(4))
def test_of_more_classes_it_is_the_mean_of_each_against_the_rest(metric, sample):
    logits, labels = sample
    found = ranking_score(metric, logits, marks_of(labels, 4, None), None, multilabel=False)
    order = logits.double().log_softmax(dim=1).numpy()
    assert float(found) == pytest.approx(expected(metric, order, np.eye(4)[labels.numpy()]), nan_ok=True)


def test_of_more_classes_it_is_what_scikit_learn_computes_from_probabilities():
    draw = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(60, 3, generator=draw), torch.arange(60) % 3
    marks, p = marks_of(labels, 3, None), logits.double().softmax(dim=1).numpy()
    area = ranking_score("roc_auc", logits, marks, None, multilabel=False)
    assert float(area) == pytest.approx(sk.roc_auc_score(labels, p, multi_class="ovr", average="macro"))
    mean = ranking_score("average_precision", logits, marks, None, multilabel=False)
    assert float(mean) == pytest.approx(sk.average_precision_score(np.eye(3)[labels.numpy()], p, average="macro"))


@by_metric
@given(sample=answers(3), seed=st.integers(0, 999))
def test_of_several_labels_it_is_the_mean_over_those_that_occur(metric, sample, seed):
    logits = sample[0]
    marks = np.random.default_rng(seed).integers(0, 2, logits.shape)
    found = ranking_score(metric, logits, marks_of(torch.from_numpy(marks), 3, None), None, multilabel=True)
    assert float(found) == pytest.approx(expected(metric, logits.numpy(), marks), nan_ok=True)


@by_metric
@pytest.mark.parametrize("positive", [None, 1])
def test_several_models_at_once_score_as_each_does(metric, positive):
    draw = torch.Generator().manual_seed(1)
    classes = 3 if positive is None else 2
    logits, labels = torch.randn(5, 20, classes, generator=draw).round(decimals=1), torch.arange(20) % classes
    marks = marks_of(labels, classes, positive)
    found = ranking_score(metric, logits, marks, positive, multilabel=False)
    alone = [ranking_score(metric, one, marks, positive, multilabel=False) for one in logits]
    assert torch.equal(found, torch.stack(alone))


@by_metric
def test_very_sure_answers_keep_their_order(metric):
    """Their probabilities all round to 1."""
    logits = torch.tensor([[0.0, 50.0], [0.0, 60.0], [0.0, 70.0], [0.0, 80.0]])
    assert logits.softmax(dim=1)[:, 1].unique().tolist() == [1.0]
    marks = marks_of(torch.tensor([0, 0, 1, 1]), 2, 1)
    assert float(ranking_score(metric, logits, marks, 1, multilabel=False)) == 1.0


@by_metric
@pytest.mark.parametrize(("positive", "multilabel"), [(1, False), (None, False), (None, True)])
def test_no_value_is_read_back_so_it_can_be_captured(metric, positive, multilabel):
    """On the device `meta` there are no values to read."""
    classes = 3 if positive is None else 2
    labels = torch.zeros((9, classes) if multilabel else 9, dtype=torch.int64, device="meta")
    logits = torch.zeros(9, classes, device="meta")
    marks = marks_of(labels, classes, positive)
    found = ranking_score(metric, logits, marks, positive, multilabel=multilabel)
    assert (found.shape, found.device.type) == (torch.Size([]), "meta")


def test_an_order_needs_both_kinds_in_one_row():
    assert has_order(torch.tensor([[True, False], [True, True]]))
    assert not has_order(torch.tensor([[False, False], [True, True]]))
    assert not has_order(torch.zeros(1, 0, dtype=torch.bool))


def test_the_size_of_one_comparison_is_that_of_its_smaller_group():
    marks = torch.arange(40) < 5
    assert effective_size(marks.unsqueeze(0)) == pytest.approx(5)
    assert effective_size(~marks.unsqueeze(0)) == pytest.approx(5)
    assert effective_size(torch.stack([marks, marks])) == pytest.approx(10)
    assert effective_size(torch.ones(1, 4, dtype=torch.bool)) == 0


def test_the_area_varies_no_more_than_its_size_says():
    """Ten positives: the standard deviation over many draws stays below the bound, and not far below."""
    rng, marks = np.random.default_rng(0), np.arange(500) < 10
    areas = [sk.roc_auc_score(marks, rng.normal(marks * 1.2)) for _ in range(400)]
    area, size = np.mean(areas), effective_size(torch.from_numpy(marks).unsqueeze(0))
    bound = np.sqrt(area * (1 - area) / size)
    assert 0.4 * bound < np.std(areas) < bound
    assert np.sqrt(area * (1 - area) / 500) < np.std(areas) / 2, "by all examples it would be far too sure"
