from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines._labels import ABSENT, TrainingLabels, logits_of
from diffmg.tasks import NodeClassification
from small_networks import small_recommendation


def labels(values: object, train: list[int]) -> TrainingLabels:
    """Of three classes; not checked as `build` does."""
    task = NodeClassification.build("a", [0, 1, 2, 0], train=[0, 1, 2], val=[3])
    return TrainingLabels.of(replace(task, labels=torch.tensor(values), parts={"train": torch.tensor(train)}))


def test_marks_are_those_of_training_nodes():
    found = labels([0, 2, 1, 0], [3, 1])
    assert found.nodes.tolist() == [3, 1]
    assert found.marks.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert found.prior.tolist() == [0.5, 0, 0.5]
    assert not found.multilabel


def test_several_labels_are_marks_already():
    found = labels([[0, 1, 0], [1, 1, 0], [1, 0, 1]], [0, 1])
    assert found.marks.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert found.multilabel


@pytest.mark.parametrize(
    ("values", "train", "numbers", "columns"),
    [
        ([0, 1, 2, 0], [0, 1, 2, 3], [0, 1, 2, 0], [0, 1, 2]),
        ([0, 2, 2, 0], [0, 1, 2, 3], [0, 1, 1, 0], [2]),
        ([1, 2, 2, 1], [0, 1], [0, 1], [2]),
    ],
    ids=["three classes", "two of three", "two others"],
)
def test_one_model_scores_the_classes_there_are(values, train, numbers, columns):
    ((y, where),) = labels(values, train).models()
    assert y.tolist() == numbers
    assert where.tolist() == columns


def test_one_model_per_label_that_varies():
    found = labels([[0, 1, 0], [1, 1, 0]], [0, 1])
    ((y, where),) = found.models()
    assert (y.tolist(), where.tolist()) == ([0, 1], [0])
    assert found.constants()[1] > 5
    assert found.constants()[2] < -5


def test_a_single_class_needs_no_model():
    found = labels([1, 1, 1], [0, 2])
    assert found.models() == []
    assert found.constants().tolist() == [ABSENT, 0, ABSENT]


def test_logits_give_their_probabilities_back():
    p = torch.tensor([[0.2, 0.8], [0.5, 0.5], [0.0, 1.0]])
    torch.testing.assert_close(logits_of(p, multilabel=False).softmax(dim=1), p, atol=1e-5, rtol=0)
    torch.testing.assert_close(logits_of(p, multilabel=True).sigmoid(), p, atol=1e-5, rtol=0)
    assert logits_of(p, multilabel=True).isfinite().all()


def test_nodes_weigh_what_their_class_weighs_and_1_on_average():
    found = replace(labels([0, 2, 2, 0], [0, 1, 2]), weights=torch.tensor([4.0, 9.0, 1.0]))
    ((_, columns),) = found.models()
    assert found.node_weights(columns).tolist() == [2.0, 0.5, 0.5]
    assert labels([0, 2], [0, 1]).node_weights(columns) is None


def test_nodes_with_a_label_weigh_what_the_label_weighs():
    found = replace(labels([[0, 1, 0], [1, 1, 0]], [0, 1]), weights=torch.tensor([4.0, 9.0, 1.0]))
    ((_, columns),) = found.models()
    assert found.node_weights(columns).tolist() == [1.0, 4.0]


def test_weights_come_from_the_task():
    task = NodeClassification.build("a", [0, 1, 0, 0], train=[0, 1, 2], val=[3], class_weight={1: 3.0})
    assert TrainingLabels.of(task).weights.tolist() == [1.0, 3.0]


def test_a_task_without_classes_is_refused():
    with pytest.raises(
        DiffmgError, match="needs a task with classes or a regression, but got a 'recommendation' without labels"
    ):
        TrainingLabels.of(small_recommendation().task)
