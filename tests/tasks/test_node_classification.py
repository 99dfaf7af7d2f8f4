from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from torch.nn import functional

from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.tables import export_tables, read_problem
from diffmg.tasks import NodeClassification, Problem

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
    with pytest.raises(DiffmgError, match=r"one label \(or -1\) per 'paper' node, 8 in"):
        task_of().check(graph_of(8))


def test_unknown_target_type():
    task = NodeClassification.build("papers", LABELS, **SPLIT)
    with pytest.raises(DiffmgError, match="did you mean 'paper'"):
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
    with pytest.raises(DiffmgError, match="but got bool of shape \\(5,\\)"):
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


def differing(
    one: NodeClassification, other: NodeClassification, order: dict[str, np.ndarray] | None = None
) -> set[str]:
    before, now = one.digests({}), other.digests(order or {})
    assert before.keys() == now.keys()
    return {name for name in before if before[name] != now[name]}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, set()),
        ({"labels": [1, 0, 2, 0, 1, 2, -1]}, {"labels"}),
        ({"val": [3]}, {"split, val"}),
        ({"test": []}, {"split, test"}),
        ({"metric": "accuracy"}, {"metric"}),
        ({"classes": ["a", "b", "c"]}, {"classes"}),
        ({"train": [2, 1, 0]}, set()),
    ],
    ids=str,
)
def test_digests_say_what_differs(changes, parts):
    assert differing(task_of(), task_of(**changes)) == parts


ORDER = np.array([6, 2, 0, 4, 1, 3, 5])


@pytest.mark.parametrize("labels", [LABELS, MANY], ids=["one label", "several"])
def test_a_permuted_task_is_the_same_on_permuted_nodes(labels):
    task, logits = task_of(labels), logits_of(3 if labels is LABELS else 2)
    there = task.permuted({"paper": ORDER, "author": np.array([1, 0])})
    assert there.labels.tolist() == np.array(labels)[ORDER].tolist()
    for part in SPLIT:
        assert ORDER[there.parts[part].numpy()].tolist() == SPLIT[part]
        assert torch.equal(there.loss((logits[torch.from_numpy(ORDER)],), part), task.loss((logits,), part))
    assert differing(task, there, {"paper": np.argsort(ORDER)}) == set()
    assert differing(task, there) != set()
    assert task.permuted({"author": np.array([1, 0])}) is task


def test_counts_of_each_class_by_part():
    assert task_of(classes=["a", "b", "c"]).counts() == {
        "train": {"a": 1, "b": 1, "c": 1},
        "val": {"a": 1, "b": 1, "c": 0},
        "test": {"a": 0, "b": 0, "c": 1},
    }
    assert task_of(MANY, classes=["x", "y"]).counts()["train"] == {"x": 2, "y": 2}


def graph_with_ids() -> HeteroGraph:
    ids = {"paper": [f"p{i}" for i in range(7)]}
    return HeteroGraph.build({"paper": 7, "author": 2}, {("author", "writes", "paper"): [[0], [0]]}, ids=ids)


def test_answers_hold_ids_classes_and_probabilities():
    task, logits = task_of(classes=["a", "b", "c"]), logits_of(3)
    answers = task.answers((logits,), graph_with_ids(), ["p5", "p0"])
    chances = task.probabilities(logits[[5, 0]]).numpy()
    assert list(answers.columns) == ["paper", "class", "p(a)", "p(b)", "p(c)"]
    assert answers["paper"].tolist() == ["p5", "p0"]
    assert answers["class"].tolist() == [("a", "b", "c")[i] for i in chances.argmax(axis=1)]
    np.testing.assert_array_equal(np.stack([answers[f"p({c})"] for c in "abc"], axis=1), chances)
    assert len(task.answers((logits,), graph_with_ids())) == 7


def test_answers_of_several_labels_are_words():
    task = task_of(MANY, classes=["x", "y"])
    logits = torch.tensor([[1.0, 1.0], [-1.0, 2.0], [-1.0, -1.0], [1.0, -1.0]]).repeat(2, 1)[:7]
    answers = task.answers((logits,), graph_with_ids(), ["p0", "p1", "p2", "p3"])
    assert answers["class"].tolist() == ["x y", "y", "", "x"]


def test_answers_to_ids_and_options_that_are_not_there():
    with pytest.raises(DiffmgError, match="p9"):
        task_of().answers((logits_of(3),), graph_with_ids(), ["p9"])
    with pytest.raises(DiffmgError, match="'k'"):
        task_of().answers((logits_of(3),), graph_with_ids(), k=3)


@pytest.mark.parametrize("labels", [LABELS, MANY], ids=["one label", "several"])
def test_what_is_exported_is_read_again(labels, tmp_path):
    problem = Problem(graph_with_ids(), task_of(labels, metric="accuracy"))
    again = read_problem(export_tables(problem, tmp_path / "it"))
    assert again.task.digests({}) == problem.task.digests({}) | {"classes": again.task.digests({})["classes"]}
    assert len(again.task.classes) == len(problem.task.classes)


@pytest.mark.parametrize("labels", [LABELS, MANY], ids=["one label", "several"])
def test_other_test_labels_change_the_test_part_alone(labels):
    task = task_of(labels)
    other = task.with_other_test_labels()
    same = torch.ones(7, dtype=torch.bool)
    same[task.parts["test"]] = False
    assert torch.equal(other.labels[same], task.labels[same])
    assert not torch.equal(other.labels, task.labels)
    assert other.check(graph_of(7)) is None


def test_the_text_of_a_task_is_short():
    text = repr(task_of(classes=["a", "b", "c"]))
    assert len(text.splitlines()) <= 15
    assert all(part in text for part in ("paper", "train 3", "macro_f1", "a, b, c"))


def test_moves_as_a_whole():
    moved = task_of().to("cpu")
    assert torch.equal(moved.loss((logits_of(3),), "test"), task_of().loss((logits_of(3),), "test"))
