from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from torch.nn import functional

from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification

LABELS = [0, 1, 2, 0, 1, 2, -1]
SPLIT = {"train": [0, 1, 2], "val": [3, 4], "test": [5]}
MANY = [[0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [-1, -1]]


def task_of(labels=LABELS, **changes) -> NodeClassification:
    return NodeClassification.build("paper", labels, **(SPLIT | changes))


def graph_of(papers: int) -> HeteroGraph:
    return HeteroGraph.build({"paper": papers, "author": 2}, {("author", "writes", "paper"): [[0], [0]]})


def logits_of(columns: int) -> torch.Tensor:
    return torch.randn(7, columns, generator=torch.Generator().manual_seed(0))


def test_parts_and_classes():
    task = task_of()
    assert [task.size(part) for part in ("train", "val", "test")] == [3, 2, 1]
    assert task.classes == (0, 1, 2)
    assert (task.outputs, task.target_types, task.multilabel) == (3, ("paper",), False)


@pytest.mark.parametrize("labels", [LABELS, MANY], ids=["one label", "several"])
@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_evaluating_gives_the_loss_and_the_score_that_chooses(labels, part):
    task = task_of(labels)
    outputs = (logits_of(task.outputs),)
    loss, score = task.evaluate(outputs, part)
    assert torch.equal(loss, task.loss(outputs, part))
    assert torch.equal(score, task.scores(outputs, part)[task.metric])


def test_classes_may_be_named():
    assert task_of(classes=["a", "b", "c"]).classes == ("a", "b", "c")


def test_test_part_may_be_empty():
    task = NodeClassification.build("paper", LABELS, train=[0, 1, 2], val=[3])
    assert task.size("test") == 0
    assert task.scores((logits_of(3),), "test") == {}


def test_loss_is_cross_entropy_over_the_part():
    logits = logits_of(3)
    wanted = functional.cross_entropy(logits[[3, 4]], torch.tensor([0, 1]))
    torch.testing.assert_close(task_of().loss((logits,), "val"), wanted)


def test_loss_of_several_labels_is_binary_cross_entropy():
    logits = logits_of(2)
    wanted = functional.binary_cross_entropy_with_logits(logits[[3, 4]], torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    torch.testing.assert_close(task_of(MANY).loss((logits,), "val"), wanted)


@pytest.mark.parametrize(("labels", "columns"), [(LABELS, 3), (MANY, 2)])
def test_scores_equal_scikit_learn(labels, columns):
    task, logits = task_of(labels), logits_of(columns)
    true = np.array(labels)[SPLIT["train"]]
    predicted = task.decide(logits)[SPLIT["train"]].numpy()
    scores = task.scores((logits,), "train")
    assert scores["accuracy"].item() == pytest.approx(sk.accuracy_score(true, predicted))
    for average in ("macro", "micro"):
        wanted = sk.f1_score(true, predicted, average=average, zero_division=0)
        assert scores[f"{average}_f1"].item() == pytest.approx(wanted)


@pytest.mark.parametrize(("labels", "columns"), [(LABELS, 3), (MANY, 2)])
def test_a_diverged_model_has_no_score(labels, columns):
    logits = logits_of(columns)
    logits[0, 0] = torch.nan
    task = task_of(labels)
    assert all(score.isnan() for score in task.scores((logits,), "train").values())
    assert not any(score.isnan() for score in task.scores((logits,), "val").values())


def test_decision_is_the_largest_logit_or_every_positive_one():
    logits = torch.tensor([[0.1, 0.5, -1.0], [-0.1, -0.2, -0.3]])
    assert task_of().decide(logits).tolist() == [1, 0]
    assert task_of(MANY).decide(logits[:, :2]).tolist() == [[1, 1], [0, 0]]


def test_probabilities_of_one_label_sum_to_one():
    logits = logits_of(3)
    probabilities = task_of().probabilities(logits)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(7))
    assert torch.equal(probabilities.argmax(dim=1), task_of().decide(logits))


def test_probabilities_of_several_labels_cross_a_half_where_the_decision_does():
    logits = logits_of(2)
    assert torch.equal(task_of(MANY).probabilities(logits) > 0.5, task_of(MANY).decide(logits).bool())


def test_fits_a_network_with_as_many_nodes_as_labels():
    task_of().check(graph_of(7))
    with pytest.raises(DiffmgError, match=r"one label \(or -1\) per 'paper' node, 8 in all, but got 7"):
        task_of().check(graph_of(8))


def test_unknown_target_type():
    task = NodeClassification.build("papers", LABELS, **SPLIT)
    with pytest.raises(DiffmgError, match="unknown node type 'papers'; did you mean 'paper'"):
        task.check(graph_of(7))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"val": [2, 3]}, r"must not overlap, but got 1 'paper' nodes in both train and val, such as \[2\]"),
        ({"test": [0, 1]}, "must not overlap, but got 2 'paper' nodes in both train and test"),
        ({"test": [3]}, "must not overlap, but got 1 'paper' nodes in both val and test"),
        ({"train": [0, 1]}, r"each with a training node, but got 3 classes and none for \[2\]; drop the class"),
        ({"train": []}, "needs 'paper' nodes in train and in val, but got none in train"),
        ({"val": []}, "needs 'paper' nodes in train and in val, but got none in val"),
        ({"test": [7]}, "`0 <= node < 7` must hold in test, but got 7 to 7"),
        ({"val": [-1]}, "`0 <= node < 7` must hold in val, but got -1 to -1"),
        ({"test": [6]}, r"every 'paper' node of test must have a label, but got none for \[6\]"),
        ({"metric": "acuracy"}, "unknown metric 'acuracy'; did you mean 'accuracy'"),
        ({"classes": ["a", "b"]}, "class.* but got"),
        ({"classes": ["a", "b", "c", "d"]}, r"each with a training node, but got 4 classes and none for \['d'\]"),
        ({"train": [0.0, 1.0, 2.0]}, "train.* but got"),
        ({"train": ["x"]}, "train.* but got"),
    ],
)
def test_bad_split(changes, message):
    with pytest.raises(DiffmgError, match=message):
        task_of(**changes)


def test_parts_may_be_masks_over_all_nodes():
    train, val = np.arange(6) < 3, np.arange(6) >= 3
    task = NodeClassification.build("paper", LABELS[:6], train=train, val=val)
    assert task.parts["train"].tolist() == [0, 1, 2]
    assert task.parts["val"].tolist() == [3, 4, 5]
    with pytest.raises(DiffmgError, match="a mask over all 6 nodes, but got bool of shape \\(5,\\)"):
        NodeClassification.build("paper", LABELS[:6], train=train[:5], val=val)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0, 0, 0, 0, -1], "there must be two or more classes, .* but got 1 classes"),
        ([0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0], "labels must be class numbers .* but got float64 of shape"),
        (["a"] * 7, "labels must be class numbers .* but got <U1 of shape"),
        ([[[0]]] * 7, r"labels must be class numbers .* of shape \(7, 1, 1\)"),
        ([[0, 1], [1, 0], [1, 1], [0, 0], [-1, 0], [0, 1], [0, 0]], r"node of val must have a label, .* \[4\]"),
        ([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, 0], [0, 0]], r"got 2 classes and none for \[0\]"),
        ([[1], [1], [0], [1], [0], [1], [0]], "there must be two or more classes, .* but got 1 classes"),
        ([[0, 2], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [0, 0]], "zeros and ones .* but got 2"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(DiffmgError, match=message):
        task_of(labels)


def test_number_of_names_equals_number_of_columns():
    with pytest.raises(DiffmgError, match=r"class.* but got"):
        task_of(MANY, classes=["a", "b", "c"])


@pytest.mark.parametrize("changes", [{"labels": [1, 0, 2, 0, 1, 2, -1]}, {"val": [3]}, {"test": []}])
def test_fingerprint_tells_labels_and_split_apart(changes):
    assert task_of().fingerprint() == task_of().fingerprint()
    assert task_of(**changes).fingerprint() != task_of().fingerprint()


def test_moves_as_a_whole():
    moved = task_of().to("cpu")
    assert torch.equal(moved.loss((logits_of(3),), "test"), task_of().loss((logits_of(3),), "test"))
