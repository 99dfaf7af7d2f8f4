from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from experiments.bootstrap import Truth, difference, drawn_scores, weighted_auc

RNG = np.random.default_rng(3)
CLASSES = Truth(RNG.integers(3, size=60), classes=True)
PAIRS = Truth(RNG.integers(2, size=60), classes=False)
MODELS = {
    True: [RNG.integers(3, size=60).astype(np.uint8) for _ in range(2)],
    False: [RNG.integers(9, size=60).astype(np.uint8) for _ in range(2)],
}


def score(truth: Truth, model: np.ndarray, index: np.ndarray) -> float:
    """By scikit-learn, on examples that may come several times."""
    true, said = truth.labels[index], model[index]
    return float(f1_score(true, said, average="macro") if truth.classes else roc_auc_score(true, said))


@pytest.mark.parametrize("truth", [CLASSES, PAIRS])
def test_scores_are_scikit_learns_on_every_draw(truth: Truth) -> None:
    models = MODELS[truth.classes]
    found = drawn_scores(models, truth, draws=55, seed=5)
    rng = np.random.default_rng(5)
    draws = [np.arange(60), *rng.integers(60, size=(50, 60)), *rng.integers(60, size=(5, 60))]
    assert found == pytest.approx(np.array([[score(truth, model, index) for model in models] for index in draws]))


def test_a_draw_of_one_side_has_no_auc() -> None:
    weights = np.stack([PAIRS.labels, 1 - PAIRS.labels]).astype(float)
    assert np.isnan(weighted_auc(MODELS[False][0].astype(int), PAIRS.labels, weights)).all()


@pytest.mark.parametrize("truth", [CLASSES, PAIRS])
def test_a_row_does_not_differ_from_itself(truth: Truth) -> None:
    scores = drawn_scores(MODELS[truth.classes][:1], truth)
    gap = difference(scores, scores)
    assert (gap.value, gap.low, gap.high) == (0, 0, 0)


def test_a_difference_is_of_means_and_pairing_narrows_its_interval() -> None:
    """Two models that fail on the same examples, but for a few, differ more surely than two that have no relation."""
    true = RNG.integers(2, size=400)
    hard = RNG.random(400) < 0.3
    good = np.where(hard, 1 - true, true)
    worse, other = good.copy(), np.where(RNG.permutation(hard), 1 - true, true)
    worse[np.flatnonzero(~hard)[:12]] ^= 1
    truth = Truth(true, classes=True)
    scores = drawn_scores([model.astype(np.uint8) for model in (good, worse, other)], truth)
    gap, loose = difference(scores[:, :1], scores[:, 1:2]), difference(scores[:, :1], scores[:, 2:])
    assert gap.value == pytest.approx(score(truth, good, np.arange(400)) - score(truth, worse, np.arange(400)))
    assert 0 < gap.low < gap.value < gap.high
    assert loose.high - loose.low > 2 * (gap.high - gap.low)


def test_seeds_that_differ_widen_the_interval() -> None:
    scores = drawn_scores(MODELS[True], CLASSES)
    both = np.concatenate([scores, scores + 0.5], axis=1)
    assert difference(both, scores).value == pytest.approx(0.25)
    assert difference(both, scores).high - difference(both, scores).low > 0.3


def test_a_difference_is_written_in_percent() -> None:
    scores = drawn_scores(MODELS[True][:1], CLASSES)
    assert str(difference(scores + 0.0123, scores)) == "+1.23 [+1.23, +1.23]"
