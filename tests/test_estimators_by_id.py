"""scikit-learn's tools on one network: what they get to see, and what they return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import (
    check_estimator_cloneable,
    check_estimator_repr,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_set_params,
)
from sklearn.utils.validation import check_is_fitted

from diffmg import MetaGraphClassifier, NodeRegression, NodeRegressor, Problem, load_dataset
from diffmg.by_id import ClassifierById, RegressorById
from diffmg.core.errors import DiffmgError
from diffmg.tasks.node_task import LabelTimes
from diffmg.tasks.relabelled import VALIDATION, relabelled

QUICK = {"dim": 8, "max_epochs": 6}
CLASSED = load_dataset("academic:120")
IDS = CLASSED.graph.ids_of("author")
FIELDS = np.asarray(CLASSED.task.classes)[CLASSED.task.labels.numpy()]


def numbered() -> Problem:
    """Authors have a number: that of their field, and a little more."""
    values = CLASSED.task.labels.numpy() * 2.0 + np.linspace(0, 0.1, len(IDS))
    return Problem(CLASSED.graph, NodeRegression.from_column("author", values))


NUMBERED = numbered()
VALUES = NUMBERED.task.values.numpy()[:, 0]


def classifier(**given: Any) -> ClassifierById:
    return MetaGraphClassifier(**{"method": "gcn", "settings": QUICK, "device": "cpu"} | given).on(CLASSED)


def regressor(**given: Any) -> RegressorById:
    return NodeRegressor(**{"method": "mlp", "settings": QUICK, "device": "cpu"} | given).on(NUMBERED)


def test_cross_validation_returns_a_number_for_each_fold() -> None:
    scores = cross_val_score(classifier(), IDS, FIELDS, cv=5)
    assert scores.shape == (5,)
    folds = list(StratifiedKFold(5).split(IDS, FIELDS))
    for score, (train, test) in zip(scores, folds, strict=True):
        predicted = classifier().fit(IDS[train], FIELDS[train]).predict(IDS[test])
        assert score == accuracy_score(FIELDS[test], predicted)


def test_cross_validation_of_numbers() -> None:
    scores = cross_val_score(regressor(), IDS, VALUES, cv=KFold(3))
    for score, (train, test) in zip(scores, KFold(3).split(IDS), strict=True):
        predicted = regressor().fit(IDS[train], VALUES[train]).predict(IDS[test])
        assert score == pytest.approx(r2_score(VALUES[test], predicted))
    assert np.isfinite(cross_val_score(regressor(), IDS, VALUES, cv=3, scoring="neg_mean_absolute_error")).all()


@pytest.mark.parametrize("method", ["gcn", "label_propagation", "diffmg"])
def test_labels_that_are_not_given_are_never_seen(method: str) -> None:
    """The task of the problem may say anything of them."""
    half = np.arange(0, len(IDS), 2)
    task = CLASSED.task
    others = task.labels.clone()
    others[1::2] = (others[1::2] + 1) % len(task.classes)
    wrong = replace(CLASSED, task=replace(task, labels=others))
    options = {"search_seeds": 1, "epochs": 3} if method == "diffmg" else {}
    estimator = MetaGraphClassifier(method=method, options=options, settings=QUICK, device="cpu")
    one, other = (estimator.on(p).fit(IDS[half], FIELDS[half]).predict_proba(IDS) for p in (CLASSED, wrong))
    assert np.array_equal(one, other)


def test_the_labels_that_are_given_decide() -> None:
    swapped = np.where(FIELDS == "field 0", "other", FIELDS)
    fitted = classifier().fit(IDS, swapped)
    assert fitted.classes_.tolist() == sorted(set(swapped))
    assert set(fitted.predict(IDS)) <= set(swapped)


def test_the_order_of_the_ids_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(len(IDS))
    one, other = classifier().fit(IDS, FIELDS), classifier().fit(IDS[order], FIELDS[order])
    assert np.array_equal(one.predict_proba(IDS), other.predict_proba(IDS))
    assert np.array_equal(one.predict(IDS)[order], one.predict(IDS[order]))


def test_training_and_validation_are_the_ids_that_were_given() -> None:
    nodes = np.array([7, 3, 30, 12, 21, 5, 9, 14, 33, 2])
    task = relabelled(NUMBERED.task, nodes, VALUES[nodes])
    train, val = (task.parts[part].numpy() for part in ("train", "val"))
    assert len(val) == round(VALIDATION * len(nodes))
    assert sorted([*train, *val]) == sorted(nodes)
    assert len(task.parts["test"]) == 0
    known = ~np.isnan(task.values.numpy()[:, 0])
    assert np.flatnonzero(known).tolist() == sorted(nodes)
    assert np.array_equal(task.values.numpy()[nodes, 0], VALUES[nodes])


def test_several_labels_a_node_are_columns() -> None:
    marks = (FIELDS[:, None] == np.asarray(CLASSED.task.classes)[None]).astype(int)
    marks[:, 0] |= marks[:, 1]
    fitted = classifier().fit(IDS, marks)
    assert fitted.predict(IDS).shape == marks.shape
    assert 0 <= fitted.score(IDS, marks) <= 1


def test_a_grid_goes_over_methods_options_and_settings() -> None:
    grid = {"estimator__options__layers": [1, 2], "estimator__settings__lr": [0.01], "estimator__seed": [3]}
    search = GridSearchCV(classifier(), grid, cv=2, error_score="raise").fit(IDS, FIELDS)
    assert len(search.cv_results_["params"]) == 2
    plan = search.best_estimator_.estimator_.run_.plan
    assert plan.method.options["layers"] == search.best_params_["estimator__options__layers"]
    assert (plan.settings.lr, plan.settings.dim, plan.seed) == (0.01, 8, 3)
    methods = GridSearchCV(classifier(), {"estimator__method": ["mlp", "gcn"]}, cv=2, error_score="raise")
    assert methods.fit(IDS, FIELDS).best_params_["estimator__method"] in ("mlp", "gcn")


def test_predictions_of_all_folds() -> None:
    predicted = cross_val_predict(classifier(), IDS, FIELDS, cv=3, method="predict_proba")
    assert predicted.shape == (len(IDS), 4)
    assert np.allclose(predicted.sum(axis=1), 1, atol=1e-5)


def test_one_part_of_options_or_settings_is_set_and_others_stay() -> None:
    estimator = MetaGraphClassifier(options={"layers": 2}, settings=QUICK)
    estimator.set_params(options__dropout=0.1, settings__dim=4, seed=5)
    assert estimator.options == {"layers": 2, "dropout": 0.1}
    assert (estimator.settings, estimator.seed) == ({"dim": 4, "max_epochs": 6}, 5)
    assert QUICK == {"dim": 8, "max_epochs": 6}
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(option__layers=1)


@pytest.mark.parametrize("made", [classifier, regressor])
@pytest.mark.parametrize("check", [check_get_params_invariance, check_estimator_cloneable, check_estimator_repr])
def test_scikit_learns_own_checks_of_parameters(made: Any, check: Any) -> None:
    check(made().__class__.__name__, made())


@pytest.mark.parametrize("kind", [MetaGraphClassifier, NodeRegressor])
def test_scikit_learns_own_checks_of_the_constructor(kind: Any) -> None:
    check_no_attributes_set_in_init(kind.__name__, kind())
    check_get_params_invariance(kind.__name__, kind())
    check_set_params(kind.__name__, kind())


def test_kinds_clones_and_states() -> None:
    assert is_classifier(classifier())
    assert is_regressor(regressor())
    made = classifier(seed=4)
    again = clone(made)
    assert again.problem is made.problem
    assert again.estimator is not made.estimator
    assert again.get_params()["estimator__seed"] == 4
    with pytest.raises(NotFittedError, match="call `fit` with ids and labels"):
        made.predict(IDS)
    fitted = made.fit(IDS, FIELDS)
    assert fitted is made
    check_is_fitted(fitted)
    assert not hasattr(clone(fitted), "estimator_")
    assert not hasattr(made.estimator, "model_"), "the estimator itself is not fitted"


@pytest.mark.parametrize(
    ("ids", "labels", "words"),
    [
        (["nobody"], ["field 0"], "every id must be one of the 'author' nodes"),
        (IDS[:5], FIELDS[:4], "one label for each id, 5 in all, but got 4"),
        (np.repeat(IDS[:6], 2), np.repeat(FIELDS[:6], 2), "every id must be given once, but got 6 twice"),
        (np.zeros((4, 2), int), FIELDS[:4], r"X must be ids of nodes, one column, but got shape \(4, 2\)"),
        (IDS[:6], ["field 0"] * 6, "two or more classes"),
    ],
    ids=["unknown", "fewer labels", "double", "matrix", "one class"],
)
def test_what_cannot_be_fitted_is_named(ids: Any, labels: Any, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        classifier().fit(ids, labels)


def test_a_task_with_moments_or_pairs_is_refused() -> None:
    dated = CLASSED.task.dated(LabelTimes(np.arange(len(IDS))))
    with pytest.raises(DiffmgError, match="labels by id are for networks without times"):
        relabelled(dated, np.arange(6), FIELDS[:6])
    with pytest.raises(DiffmgError, match="for nodes of one type, but got a task of recommendation"):
        relabelled(load_dataset("shop:160").task, np.arange(6), FIELDS[:6])
    with pytest.raises(DiffmgError, match="NodeRegressor serves regression, but got a task of classification"):
        NodeRegressor().on(CLASSED)
