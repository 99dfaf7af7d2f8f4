from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.leaks.labels import FOLDS, Labels


def labels_of(values: np.ndarray, kind: str = "class") -> Labels:
    return Labels.of(np.arange(len(values)), values, kind, 10_000)  # type: ignore[arg-type]


def slowly_right(labels: Labels, codes: np.ndarray) -> int:
    """Rows whose class is the commonest of their code in the other folds, else the commonest of those folds."""
    right = 0
    for fold, code, true in zip(labels.folds, codes, labels.values, strict=True):
        others = labels.folds != fold
        same = labels.values[others & (codes == code)]
        known = same if len(same) else labels.values[others]
        right += np.bincount(known, minlength=labels.classes).argmax() == true
    return right


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=10, max_size=60))
def test_codes_are_judged_on_other_folds(rows: list[tuple[int, int]]) -> None:
    values, codes = np.array(rows).T
    labels = labels_of(values)
    drawn = codes[labels.nodes]
    assert labels.coded(drawn).score == pytest.approx(slowly_right(labels, drawn) / len(rows))


def test_a_perfect_signal_has_strength_one_and_noise_none() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, 600)
    labels = labels_of(values)
    own = values[labels.nodes]
    assert labels.coded(own).value == 1
    assert labels.ordered(own + rng.uniform(0, 0.9, 600)).value > 0.98
    assert labels.ordered(rng.normal(size=600)).value < 0.1
    assert labels.coded(rng.integers(0, 600, 600)).value < 0.1, "a name of its own for each row tells nothing"


def test_the_bound_is_lower_with_fewer_rows() -> None:
    bounds = [labels_of(v).coded(v[labels_of(v).nodes]).lower for v in (np.arange(n) % 2 for n in (40, 400, 4000))]
    assert bounds == sorted(bounds)
    assert bounds[0] < 0.9 < bounds[1] < bounds[2] < 1


def test_the_bound_holds_as_often_as_it_says() -> None:
    rng, true = np.random.default_rng(0), 0.9
    above = 0
    for _ in range(200):
        values = np.arange(300) % 2
        labels = labels_of(values)
        answers = np.eye(2)[labels.values ^ (rng.random(300) > true)]
        above += labels.judged(answers).lower > 1 - (1 - true) / 0.5
    assert above <= 22


def test_missing_values_are_a_value_of_their_own() -> None:
    values = np.arange(200) % 2
    labels = labels_of(values)
    own = np.where(values[labels.nodes] == 1, np.nan, np.random.default_rng(0).normal(size=200))
    assert labels.ordered(own).value == 1


def test_numbers_are_judged_by_rank() -> None:
    rng = np.random.default_rng(0)
    values = rng.lognormal(0, 3, 1000)
    labels = labels_of(values, "number")
    own = values[labels.nodes]
    assert labels.ordered(own).value > 0.995
    assert labels.ordered(-np.log(own) + rng.normal(0, 0.05, 1000)).value > 0.99
    assert labels.ordered(np.log(own) + rng.normal(0, 3, 1000)).value < 0.7
    assert labels.ordered(rng.normal(size=1000)).value < 0.1


def test_only_so_many_labels_are_drawn_and_the_first_are_some_of_them() -> None:
    labels = Labels.of(np.arange(1000), np.arange(1000) % 2, "class", 100)
    assert len(labels.values) == 100
    assert set(labels.folds) == set(range(FOLDS))
    assert (labels.first(10).nodes == labels.nodes[:10]).all()


def slowly_nearest(labels: Labels, values: np.ndarray) -> int:
    """Rows whose class is the commonest at the nearest value of the other folds; of two, the lower."""
    right = 0
    for fold, value, true in zip(labels.folds, values, labels.values, strict=True):
        others = labels.folds != fold
        known = np.unique(values[others])
        nearest = min(known, key=lambda k: (abs(k - value), k))
        right += np.bincount(labels.values[others & (values == nearest)], minlength=labels.classes).argmax() == true
    return right


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), min_size=10, max_size=60))
def test_unknown_numbers_are_answered_as_the_nearest(rows: list[tuple[int, int]]) -> None:
    values, numbers = np.array(rows).T
    labels = labels_of(values)
    drawn = numbers[labels.nodes].astype(float)
    assert labels.ordered(drawn).score == pytest.approx(slowly_nearest(labels, drawn) / len(rows))
