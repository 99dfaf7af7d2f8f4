from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines._growing import smallest_leaf
from diffmg.methods.baselines.boosting import Boosting
from fitted_checks import (
    SETTINGS,
    assert_a_saved_network_predicts_by_itself,
    assert_only_training_labels_are_read,
    assert_only_training_numbers_are_read,
    fitted,
    groups,
    lacking_a_class,
    numbers,
    outputs,
    score,
    world_of_labels,
)

METHOD = Boosting(rounds=5)


def test_probabilities_are_those_of_scikit_learn_on_the_same_table():
    problem = groups(200)
    network = fitted(METHOD, problem)
    x, train = network.table(problem.graph), problem.task.parts["train"].numpy()
    leaf = smallest_leaf(len(train))
    options = {"max_iter": 5, "max_leaf_nodes": METHOD.leaves, "min_samples_leaf": leaf, "early_stopping": False}
    model = HistGradientBoostingClassifier(**options).fit(x[train], problem.task.labels[train])
    (logits,) = network(problem.graph)
    np.testing.assert_allclose(logits.softmax(dim=1), model.predict_proba(x), atol=1e-6)
    assert np.isnan(x).any()
    assert logits.std() > 0.1


@pytest.mark.parametrize("options", [{"labels": False}, {"columns": 1}, {"hops": 1, "labels": False}])
def test_classes_are_found_from_the_features_of_neighbours(options):
    least = 0.5 if "columns" in options else 0.8
    assert score(Boosting(rounds=20, **options), groups(300)) > least


def test_classes_are_found_from_the_labels_of_others():
    """Without features there are only counts besides."""
    problem = groups(300)
    for x in problem.graph.features.values():
        x.zero_()
    assert score(Boosting(rounds=20), problem) > max(0.8, score(Boosting(rounds=20, labels=False), problem) + 0.1)


@pytest.mark.parametrize("several", [False, True])
def test_other_labels_are_not_read_and_a_saved_network_predicts_by_itself(several):
    problem = groups(200, several=several)
    assert_only_training_labels_are_read(METHOD, problem)
    assert_a_saved_network_predicts_by_itself(METHOD, problem)
    assert_a_saved_network_predicts_by_itself(Boosting(rounds=2, columns=1), world_of_labels(several=several))


def test_few_nodes_give_the_shares_of_the_classes():
    (logits,) = outputs(METHOD, world_of_labels())
    torch.testing.assert_close(logits.softmax(dim=1), torch.tensor([[0.4, 0.4, 0.2]]).expand(10, 3))


def test_a_class_without_training_nodes_is_never_predicted():
    problem = lacking_a_class(groups(200))
    assert set(outputs(METHOD, problem)[0].argmax(dim=1).tolist()) == {0, 2}


def test_folds_follow_from_the_seed():
    problem = groups()
    one, same, other = (fitted(METHOD, problem, seed).kept("folds") for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_missing_library_is_named_before_anything_is_computed(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(DiffmgError, match="needs LightGBM"):
        Boosting(library="lightgbm").check(groups(), SETTINGS)


@pytest.mark.parametrize("options", [{"hops": 0}, {"leaves": 1}, {"library": "xgboost"}, {"rate": 0.0}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        Boosting(**options)


@pytest.mark.parametrize(
    ("loss", "theirs"), [("mae", "absolute_error"), ("mse", "squared_error"), ("huber", "squared_error")]
)
def test_numbers_are_those_of_scikit_learn_on_the_same_table(loss, theirs):
    problem = numbers(groups(200), loss=loss)
    network = fitted(METHOD, problem)
    x, train = network.table(problem.graph), problem.task.parts["train"].numpy()
    options = {"max_iter": 5, "max_leaf_nodes": METHOD.leaves, "min_samples_leaf": smallest_leaf(len(train))}
    for column, found in enumerate(network(problem.graph)[0].T):
        model = HistGradientBoostingRegressor(**options, early_stopping=False, loss=theirs).fit(
            x[train], problem.task.scaled[train, column]
        )
        np.testing.assert_allclose(found, model.predict(x), atol=1e-5)


def test_numbers_of_others_are_told_but_not_of_the_test_part():
    problem = numbers(groups(200))
    assert_only_training_numbers_are_read(METHOD, problem)
    assert_a_saved_network_predicts_by_itself(METHOD, problem)
    assert float(problem.task.scores(outputs(Boosting(rounds=50), problem), "val")["r2"]) > 0.5
