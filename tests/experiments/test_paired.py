from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from experiments.paired import difference_error, weighted_macro_f1

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 3, 120)


def guess(right: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(TRUE)) < right, TRUE, rng.integers(0, 3, len(TRUE)))


def test_weights_count_nodes_as_often():
    """Against scikit-learn on the nodes written out."""
    predicted, weights = guess(0.5, 1), RNG.integers(0, 4, (5, len(TRUE)))
    found = weighted_macro_f1(predicted, TRUE, weights.astype(float))
    expected = [f1_score(np.repeat(TRUE, w), np.repeat(predicted, w), average="macro") for w in weights]
    assert found == pytest.approx(expected)


def test_a_class_that_is_nowhere_is_left_out():
    predicted, true = np.array([0, 0, 2]), np.array([0, 0, 2])
    assert weighted_macro_f1(predicted, true, np.ones((1, 3))) == pytest.approx([1.0])


def test_the_error_is_the_spread_over_resampled_nodes():
    one, other = np.stack([guess(0.8, 2), guess(0.8, 3)]), guess(0.6, 4)[None]
    rng, gaps = np.random.default_rng(5), []
    for _ in range(200):
        nodes = rng.integers(0, len(TRUE), len(TRUE))
        scores = [[f1_score(TRUE[nodes], row[nodes], average="macro") for row in runs] for runs in (one, other)]
        gaps.append(np.mean(scores[0]) - np.mean(scores[1]))
    assert difference_error(one, other, TRUE) == pytest.approx(np.std(gaps), rel=0.2)


def test_equal_predictions_do_not_differ():
    same = guess(0.7, 6)[None]
    assert difference_error(same, same, TRUE) == 0
