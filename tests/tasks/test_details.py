from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, brier_score_loss, roc_auc_score

from diffmg.tasks.details import (
    LISTED_CLASSES,
    OTHERS,
    PERCENT,
    POINTS,
    SAMPLE,
    SHOWN_CLASSES,
    calibration,
    class_scores,
    confusion,
    rank_curves,
    residuals,
    thinned,
)

numbers = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(numbers)
def test_scores_of_classes_are_those_counted_by_hand(pairs: list[tuple[int, int]]) -> None:
    true, decided = np.array(pairs).T
    for number, found in enumerate(class_scores(true, decided, ["a", "b", "c", "d"])):
        hits = sum(t == d == number for t, d in pairs)
        said, is_so = sum(d == number for _, d in pairs), sum(t == number for t, _ in pairs)
        precision, recall = hits / said if said else 0, hits / is_so if is_so else 0
        both = precision + recall
        assert (found.precision, found.recall, found.support) == pytest.approx((precision, recall, is_so))
        assert found.f1 == pytest.approx(2 * precision * recall / both if both else 0)


def test_scores_of_several_labels_a_node_are_by_column() -> None:
    true, decided = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1, 1], [0, 1], [0, 1]])
    first, second = class_scores(true, decided, ["x", "y"])
    assert (first.precision, first.recall, first.support) == (1.0, 0.5, 2)
    assert (second.precision, second.recall, second.support) == (pytest.approx(2 / 3), 1.0, 2)


def test_of_very_many_classes_the_most_frequent_ones_are_kept() -> None:
    true = np.concatenate([np.arange(300), np.full(5, 299)])
    found = class_scores(true, true, [str(i) for i in range(300)])
    assert len(found) == LISTED_CLASSES
    assert (found[-1].name, found[-1].support) == ("299", 6)


@given(numbers)
def test_a_confusion_matrix_counts_pairs(pairs: list[tuple[int, int]]) -> None:
    found = confusion(*np.array(pairs).T, ["a", "b", "c", "d"])
    assert found.counts == tuple(tuple(pairs.count((i, j)) for j in range(4)) for i in range(4))


def test_rare_classes_of_a_confusion_matrix_are_pooled() -> None:
    rng = np.random.default_rng(0)
    true = np.concatenate([np.repeat(np.arange(20), 5), np.full(7, 17)])
    decided = rng.permutation(true)
    found = confusion(true, decided, [f"c{i}" for i in range(20)])
    assert len(found.names) == SHOWN_CLASSES
    assert found.names[-1] == OTHERS
    assert "c17" in found.names
    assert sum(map(sum, found.counts)) == len(true)
    place = found.names.index("c17")
    assert found.counts[place][place] == int(((true == 17) & (decided == 17)).sum())


@pytest.mark.parametrize("count", [12, 3000])
def test_curves_enclose_the_areas_of_scikit_learn(count: int) -> None:
    rng = np.random.default_rng(1)
    positive = rng.random(count) < 0.4
    scores = np.round(rng.normal(positive * 1.0, 1.0), 1)
    found = rank_curves(positive, scores)
    x, y = np.array(found["roc"]).T
    assert auc(x, y) == pytest.approx(roc_auc_score(positive, scores), abs=0.005)
    recall, precision = np.array(found["precision_recall"]).T
    assert (np.diff(recall) >= 0).all()
    assert max(len(c) for c in found.values()) <= POINTS + 2
    area = float((np.diff(recall) * precision[1:]).sum())
    assert area == pytest.approx(average_precision_score(positive, scores), abs=0.02)


def test_one_class_has_no_curves() -> None:
    assert rank_curves(np.ones(3, bool), np.arange(3.0)) == {}
    assert rank_curves(np.array([True, False]), np.array([np.nan, 1.0])) == {}


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_bins_of_a_calibration_hold_each_example_once_in_order(pairs: list[tuple[float, bool]]) -> None:
    predicted, happened = np.array([p for p, _ in pairs]), np.array([h for _, h in pairs])
    bins = calibration(happened, predicted)
    assert sum(b.count for b in bins) == len(pairs)
    assert sum(b.count * b.predicted for b in bins) == pytest.approx(predicted.sum(), abs=1e-9)
    assert sum(b.count * b.happened for b in bins) == pytest.approx(happened.sum(), abs=1e-9)
    means = [b.predicted for b in bins]
    assert means == sorted(means)
    assert len(bins) <= 10


def test_a_calibrated_forecast_lies_on_the_diagonal() -> None:
    rng = np.random.default_rng(2)
    predicted = rng.random(40_000)
    happened = rng.random(40_000) < predicted
    assert all(abs(b.predicted - b.happened) < 0.03 for b in calibration(happened, predicted))
    assert brier_score_loss(happened, predicted) < 0.2


def test_residuals_are_a_sample_with_quantiles_of_all() -> None:
    rng = np.random.default_rng(3)
    true = rng.normal(size=2000)
    predicted = true + rng.normal(size=2000)
    found = residuals("price", true, predicted)
    assert len(found.points) == SAMPLE
    assert set(found.points) <= set(zip(true.tolist(), predicted.tolist(), strict=True))
    differences = sorted(p - t for t, p in zip(true, predicted, strict=True))
    assert found.quantiles["50"] == pytest.approx((differences[999] + differences[1000]) / 2)
    assert list(found.quantiles) == [f"{p:g}" for p in PERCENT]
    assert residuals("price", true[:5], predicted[:5]).points == tuple(zip(true[:5], predicted[:5], strict=True))


def test_a_thinned_curve_keeps_its_ends_and_its_shape() -> None:
    x = np.linspace(0, 1, 5000)
    found = np.array(thinned(x, x**2))
    assert len(found) <= POINTS + 2
    assert found[0].tolist() == [0, 0]
    assert found[-1].tolist() == [1, 1]
    assert np.interp(0.5, *found.T) == pytest.approx(0.25, abs=1e-3)
