from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines import _growing
from diffmg.methods.baselines._growing import Growth, grow, lightgbm, smallest_leaf
from diffmg.methods.baselines._labels import TrainingLabels

GROWTH = Growth(rounds=7, rate=0.2, leaves=6, penalty=0.5, asked=100)
LIBRARIES = ["sklearn", "lightgbm"]


def table(rows: int, seed: int = 0) -> np.ndarray:
    """Some values are missing; column 2 has whole numbers."""
    x = np.random.default_rng(seed).standard_normal((rows, 4)).astype(np.float32)
    x[:, 2] = x[:, 2].round()
    x[::7, 0] = np.nan
    return x


def marked(marks: np.ndarray, several: bool) -> TrainingLabels:
    return TrainingLabels(torch.arange(len(marks)), torch.from_numpy(marks.astype(np.uint8)), several)


def classes(x: np.ndarray, count: int) -> np.ndarray:
    return np.nan_to_num(x[:, 0] + x[:, 1] * x[:, 2]).argsort().argsort() * count // len(x)


def sklearn_model() -> HistGradientBoostingClassifier:
    options = {"max_iter": 7, "learning_rate": 0.2, "max_leaf_nodes": 6, "l2_regularization": 0.5}
    return HistGradientBoostingClassifier(**options, early_stopping=False, random_state=0)


@pytest.mark.parametrize("count", [2, 3])
def test_probabilities_are_those_of_scikit_learn_on_rows_never_seen(count):
    x, new = table(200), table(300, 1)
    new[::5, 1] = np.nan  # missing in a column that was never missing
    y = classes(x, count)
    trees = grow(x, marked(np.eye(count)[y], False), "sklearn", GROWTH, 0)
    wanted = sklearn_model().fit(x, y).predict_proba(new)
    np.testing.assert_allclose(trees.scores(torch.from_numpy(new)).softmax(dim=1), wanted, atol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rows", [12, 30])
def test_trees_split_few_rows_too(library, rows):
    if library != "sklearn":
        pytest.importorskip(library)
    x = table(rows)
    y = (x[:, 1] > np.median(x[:, 1])).astype(int)
    scores = grow(x, marked(np.eye(2)[y], False), library, GROWTH, 0).scores(torch.from_numpy(x))
    assert (scores.argmax(dim=1).numpy() == y).mean() > 0.9


def test_leaves_of_many_rows_are_those_of_the_libraries():
    assert [smallest_leaf(rows) for rows in (1, 60, 190, 200, 10**6)] == [5, 6, 19, 20, 20]


@pytest.mark.parametrize("library", LIBRARIES)
def test_classes_weigh_as_the_task_says(library):
    """A rare class that weighs much is predicted more often, and as scikit-learn does it."""
    if library != "sklearn":
        pytest.importorskip(library)
    x = table(300)
    y = (classes(x, 10) == 9).astype(int)
    plain = marked(np.eye(2)[y], False)
    weighted = replace(plain, weights=torch.tensor([1.0, 9.0]))
    found = [
        grow(x, given, library, GROWTH, 0).scores(torch.from_numpy(x)).softmax(dim=1) for given in (plain, weighted)
    ]
    assert (found[1][:, 1] > 0.5).sum() > (found[0][:, 1] > 0.5).sum()
    if library == "sklearn":
        wanted = sklearn_model().fit(x, y, sample_weight=weighted.node_weights(np.array([1])))
        np.testing.assert_allclose(found[1], wanted.predict_proba(x), atol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_without_any_value_is_never_split(library):
    if library != "sklearn":
        pytest.importorskip(library)
    x = table(200)
    x[:, 3] = np.nan
    trees = grow(x, marked(np.eye(2)[classes(x, 2)], False), library, GROWTH, 0)
    asked = trees.feature[trees.left != torch.arange(len(trees.left))]
    assert len(asked) > 0
    assert 3 not in asked


def test_several_labels_have_a_model_each_and_constant_ones_none():
    x = table(200)
    y = classes(x, 2)
    marks = np.stack([y, np.ones_like(y), 1 - y], axis=1)
    p = grow(x, marked(marks, True), "sklearn", GROWTH, 0).scores(torch.from_numpy(x)).sigmoid()
    np.testing.assert_allclose(p[:, 0], sklearn_model().fit(x, y).predict_proba(x)[:, 1], atol=1e-6)
    np.testing.assert_allclose(p[:, 2], sklearn_model().fit(x, 1 - y).predict_proba(x)[:, 1], atol=1e-6)
    assert (p[:, 1] > 0.99).all()


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("missing", [True, False])
def test_probabilities_are_those_of_lightgbm(count, missing):
    library = pytest.importorskip("lightgbm")
    x, new = table(200), table(300, 1)
    x = x if missing else np.nan_to_num(x)
    y = classes(x, count)
    trees = grow(x, marked(np.eye(count)[y], False), "lightgbm", GROWTH, 0)
    options = {"n_estimators": 7, "learning_rate": 0.2, "num_leaves": 6, "reg_lambda": 0.5, "verbose": -1}
    model = library.LGBMClassifier(**options, random_state=0, deterministic=True, force_row_wise=True, n_jobs=1).fit(
        x, y
    )
    wanted = model.booster_.predict(new)
    found = trees.scores(torch.from_numpy(new)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found if count > 2 else found[:, 1], wanted, atol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_of_many_columns_those_that_tell_something_are_asked_for(library):
    if library != "sklearn":
        pytest.importorskip(library)
    x = np.hstack([np.random.default_rng(1).standard_normal((400, 50)), table(400)]).astype(np.float32)
    y = (x[:, 51] > 0).astype(int)
    trees = grow(x, marked(np.eye(2)[y], False), library, replace(GROWTH, asked=3), 0)
    asked = trees.feature[trees.left != torch.arange(len(trees.left))].unique().tolist()
    assert 51 in asked
    assert len(asked) <= 3
    assert ((trees.scores(torch.from_numpy(x)).argmax(dim=1).numpy() == y).mean()) > 0.99


def test_scouting_trees_see_a_rare_class_and_skip_columns_that_are_empty_in_their_rows(monkeypatch):
    monkeypatch.setattr(_growing, "SCOUTED", 80)
    x = table(2000)
    rare = np.arange(2000) == 1234
    x[:, 3], x[rare, 3] = np.nan, 5
    asked = _growing.asked_for(x, _growing.Wanted(rare.astype(int), None, ""), 2, 0)
    assert 0 < len(asked) <= 2
    few = _growing.asked_for(x, _growing.Wanted(x[:, 1] > 0, None, ""), 2, 0)
    assert 1 in few


def test_without_lightgbm_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(DiffmgError, match="pip install lightgbm"):
        lightgbm()


def test_trees_that_were_read_wrongly_are_refused(monkeypatch):
    right = _growing.tree_from_sklearn
    monkeypatch.setattr(_growing, "tree_from_sklearn", lambda nodes: right(nodes)._replace(value=nodes["value"] * 2))
    x = table(200)
    with pytest.raises(DiffmgError, match=r"a difference of .* from sklearn"):
        grow(x, marked(np.eye(2)[classes(x, 2)], False), "sklearn", GROWTH, 0)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # of lightgbm, by versions of scikit-learn
@pytest.mark.parametrize(("loss", "theirs"), [("mae", "regression_l1"), ("mse", "regression"), ("huber", "huber")])
def test_numbers_are_those_of_lightgbm(loss, theirs):
    library = pytest.importorskip("lightgbm")
    x = table(300)
    y = np.nan_to_num(x[:, 0]) * 2 + np.random.default_rng(0).normal(0, 0.1, 300)
    labels = TrainingLabels(torch.arange(300), torch.from_numpy(y[:, None]), multilabel=False, loss=loss)
    trees = grow(x, labels, "lightgbm", GROWTH, 0)
    model = library.LGBMRegressor(
        n_estimators=GROWTH.rounds,
        learning_rate=GROWTH.rate,
        num_leaves=GROWTH.leaves,
        reg_lambda=GROWTH.penalty,
        objective=theirs,
        verbose=-1,
    ).fit(x, y)
    other = table(50, 1)
    np.testing.assert_allclose(trees.scores(torch.from_numpy(other))[:, 0], model.predict(other), atol=1e-6)
