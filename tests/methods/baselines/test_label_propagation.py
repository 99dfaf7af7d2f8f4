from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from baseline_checks import dense_union
from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines.label_propagation import LabelPropagation
from diffmg.tasks import NodeRegression, Problem
from fitted_checks import (
    assert_a_saved_network_predicts_by_itself,
    assert_only_training_labels_are_read,
    assert_only_training_numbers_are_read,
    groups,
    lacking_a_class,
    outputs,
    score,
    world_of_labels,
)
from oracle import rows_of
from small_networks import small_world

METHOD = LabelPropagation(steps=3, restart=0.2)


def oracle(several: bool) -> np.ndarray:
    """The formula with one dense matrix over all nodes; the last column counts training nodes."""
    task, world = world_of_labels(several=several).task, small_world()
    a, train = dense_union(world).numpy(), task.parts["train"].numpy()
    degree = a.sum(1)
    scale = np.where(degree > 0, degree, 1) ** -0.5
    y = np.zeros((len(a), task.outputs + 1))
    for node in train:
        row = rows_of(world, "a").start + node
        y[row, -1] = 1
        for label in range(task.outputs):
            y[row, label] = task.labels[node][label] if several else task.labels[node] == label
    f = y.copy()
    for _ in range(3):
        f = 0.8 * (scale[:, None] * a * scale) @ f + 0.2 * y
    prior = y[:, :-1].sum(0) / len(train)
    return np.stack([row[:-1] / row[-1] if row[-1] > 0 else prior for row in f[rows_of(world, "a")]])


@pytest.mark.parametrize("several", [False, True])
def test_probabilities_are_those_of_the_dense_formula(several):
    problem = world_of_labels(several=several)
    (logits,) = outputs(METHOD, problem)
    want = torch.from_numpy(oracle(several)).clamp(1e-6, 1 - 1e-6).float()
    torch.testing.assert_close(problem.task.probabilities(logits), want, rtol=1e-4, atol=1e-5)
    assert logits.isfinite().all()


def test_a_node_that_nothing_arrives_at_has_the_shares_of_the_classes():
    problem = world_of_labels()
    (logits,) = outputs(METHOD, problem)
    torch.testing.assert_close(problem.task.probabilities(logits)[9], torch.tensor([0.4, 0.4, 0.2]))


@pytest.mark.parametrize("several", [False, True])
def test_other_labels_are_not_read_and_a_saved_network_predicts_by_itself(several):
    assert_only_training_labels_are_read(METHOD, groups(several=several))
    assert_a_saved_network_predicts_by_itself(METHOD, groups(several=several))


def test_labels_are_found_through_common_things():
    assert score(LabelPropagation(), groups()) > 0.8


def test_several_labels_are_found_through_common_things():
    problem = groups(several=True)
    val = problem.task.parts["val"]
    logits, labels = outputs(LabelPropagation(steps=2), problem)[0][val], problem.task.labels[val]
    assert all(roc_auc_score(labels[:, n], logits[:, n]) > 0.75 for n in range(2))


def test_a_class_without_training_nodes_is_never_predicted():
    problem = lacking_a_class(groups())
    assert set(outputs(METHOD, problem)[0].argmax(dim=1).tolist()) == {0, 2}


@pytest.mark.parametrize("options", [{"steps": 0}, {"restart": 1.5}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        LabelPropagation(**options)


def test_numbers_are_means_of_those_that_arrive():
    """Of one class after the other: numbers spread as the shares of classes do."""
    labelled = world_of_labels()
    task = labelled.task
    values = task.labels.double().numpy()
    problem = Problem(labelled.graph, NodeRegression.build("a", values, **task.parts))
    wanted = oracle(several=False) @ np.arange(3)
    found = problem.task.predictions(outputs(METHOD, problem))[:, 0]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert_only_training_numbers_are_read(METHOD, problem)
    assert_a_saved_network_predicts_by_itself(METHOD, problem)
