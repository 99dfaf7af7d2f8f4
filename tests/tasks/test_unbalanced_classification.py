"""A classification with rare classes: what chooses, what is weighted, and what a race asks of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from torch.nn import functional

from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.race.evidence import chance_of
from diffmg.race.field import Field
from diffmg.tables import export_tables, read_problem
from diffmg.tasks import NodeClassification, Problem

N = 120
LABELS = np.where(np.arange(N) % 12 == 0, 1, 0)
"""One in twelve is positive."""
SPLIT = {"train": range(60), "val": range(60, 96), "test": range(96, 120)}
MANY = np.stack([LABELS, 1 - LABELS, np.arange(N) % 3 == 0], axis=1).astype(int)
THREE = np.arange(N) % 3
KINDS = {"two classes": LABELS, "three classes": THREE, "several labels": MANY}
by_kind = pytest.mark.parametrize("labels", KINDS.values(), ids=KINDS)
by_metric = pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])


def task_of(labels=LABELS, **options) -> NodeClassification:
    return NodeClassification.build("paper", labels, **(SPLIT | options))


def logits_for(task: NodeClassification, seed: int = 0) -> torch.Tensor:
    return torch.randn(N, task.outputs, generator=torch.Generator().manual_seed(seed))


def problem_of(task: NodeClassification) -> Problem:
    ids = {"paper": [f"p{i:03}" for i in range(N)]}
    return Problem(HeteroGraph.build({"paper": N, "author": 2}, {("author", "by", "paper"): [[0], [0]]}, ids=ids), task)


def test_the_positive_class_is_the_rarer_in_training_or_the_given_one():
    assert task_of(classes=["no", "yes"]).positive == 1
    assert task_of(1 - LABELS, classes=["yes", "no"]).positive == 0
    assert task_of(classes=["no", "yes"], positive="no").positive == 0
    assert task_of(THREE).positive is None
    column = ["yes" if label else "no" for label in LABELS]
    assert NodeClassification.from_column("paper", column, positive="no", metric="average_precision").positive == 0


def test_the_positive_class_does_not_depend_on_test_labels_or_folds():
    task = task_of(metric="average_precision")
    assert task.with_other_test_labels().positive == task.positive
    labels = LABELS.copy()
    labels[SPLIT["val"]] = 1
    labels[60] = 0
    mostly = task_of(labels, metric="average_precision")
    assert mostly.positive == 1
    assert {fold.positive for fold in mostly.folds(5, 0).tasks} == {1}


@by_metric
@pytest.mark.parametrize("positive", [0, 1])
def test_final_scores_of_two_classes_are_those_of_scikit_learn(metric, positive):
    task = task_of(metric=metric, positive=positive)
    logits, rows = logits_for(task), list(SPLIT["test"])
    p, true = task.probabilities(logits.double())[rows, positive], LABELS[rows] == positive
    found = task.final_scores((logits,), "test")
    assert float(found["roc_auc"]) == pytest.approx(sk.roc_auc_score(true, p))
    assert float(found["average_precision"]) == pytest.approx(sk.average_precision_score(true, p))
    assert found[metric] == task.scores((logits,), "test")[metric] == task.evaluate((logits,), "test")[1]


def test_two_classes_show_both_and_epochs_compute_what_chooses():
    task = task_of()
    logits = logits_for(task)
    usual = {"macro_f1", "micro_f1", "accuracy"}
    assert task.scores((logits,), "val").keys() == usual
    assert task.final_scores((logits,), "val").keys() == usual | {"roc_auc", "average_precision"}
    assert task_of(metric="roc_auc").scores((logits,), "val").keys() == usual | {"roc_auc"}
    three = task_of(THREE)
    assert three.final_scores((logits_for(three),), "val").keys() == usual
    assert task_of(test=[]).final_scores((logits,), "test") == {}


def test_a_part_of_one_class_shows_no_order():
    task = task_of(test=[97, 98])
    assert "roc_auc" not in task.final_scores((logits_for(task),), "test")
    assert "roc_auc" in task.final_scores((logits_for(task),), "val")


@by_metric
@by_kind
def test_a_diverged_model_has_no_score(metric, labels):
    task = task_of(labels, metric=metric)
    logits = logits_for(task)
    logits[60, 0] = torch.nan
    assert task.evaluate((logits,), "val")[1].isnan()
    assert not task.evaluate((logits,), "train")[1].isnan()


@by_metric
@pytest.mark.parametrize("part", ["val", "test"])
def test_a_part_of_one_class_is_refused_where_an_order_chooses(metric, part):
    with pytest.raises(DiffmgError, match=rf"{metric} needs .* but got 3 nodes of {part} that are all 'no'; move some"):
        task_of(metric=metric, classes=["no", "yes"], **{part: [97, 98, 99]}, **({"test": []} if part == "val" else {}))
    task_of(classes=["no", "yes"], **{part: [97, 98, 99]}, **({"test": []} if part == "val" else {}))


def test_several_labels_that_never_differ_are_refused():
    labels = MANY.copy()
    labels[60:62] = [1, 0, 1]
    with pytest.raises(DiffmgError, match=r"but got 2 nodes of val that are all \['a', 'c'\]"):
        task_of(labels, metric="roc_auc", classes=["a", "b", "c"], val=[60, 61])


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize("weight", [{"no": 0.5, "yes": 4.0}, {"yes": 3}, "balanced"], ids=str)
def test_the_loss_is_weighted_cross_entropy(part, weight):
    task = task_of(classes=["no", "yes"], class_weight=weight)
    logits, rows = logits_for(task).double(), list(SPLIT[part])
    if weight == "balanced":
        weights = 60 / (2 * np.bincount(LABELS[:60]))
    else:
        weights = np.array([weight.get("no", 1), weight["yes"]])
    each = -logits.log_softmax(dim=1).numpy()[rows, LABELS[rows]]
    wanted = np.average(each, weights=weights[LABELS[rows]])
    assert float(task.loss((logits.float(),), part)) == pytest.approx(wanted, rel=1e-5)
    assert float(task_of().loss((logits.float(),), part)) == pytest.approx(each.mean(), rel=1e-5)


def test_the_loss_of_several_labels_weighs_nodes_that_have_them():
    task = task_of(MANY, classes=["a", "b", "c"], class_weight={"a": 5.0})
    logits = logits_for(task)
    p, marks = torch.sigmoid(logits.double())[:60].numpy(), MANY[:60]
    wanted = -(marks * np.log(p) * [5.0, 1.0, 1.0] + (1 - marks) * np.log(1 - p)).mean()
    assert float(task.loss((logits,), "train")) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("balance", [0.5, 1.0])
def test_a_training_evens_classes_out_by_a_power_of_their_nodes(balance):
    counts = np.bincount(LABELS[:60])
    weights = task_of().evened(balance).weights.numpy()
    assert weights[1] / weights[0] == pytest.approx((counts[0] / counts[1]) ** balance)
    assert weights[LABELS[:60]].mean() == pytest.approx(1)
    with_it = MANY[:60].sum(axis=0)
    several = task_of(MANY).evened(balance).weights.numpy()
    assert several == pytest.approx(((60 - with_it) / with_it) ** balance)


@by_kind
def test_evened_out_completely_is_balanced(labels):
    assert torch.allclose(task_of(labels).evened(1.0).weights, task_of(labels, class_weight="balanced").weights)
    assert task_of(labels).evened(0.0).weights is None


def test_two_ways_to_weigh_classes_are_one_too_many():
    with pytest.raises(DiffmgError, match=r"got both, balance=0.5 and class_weight='balanced'; leave one of them out"):
        task_of(class_weight="balanced").evened(0.5)


@pytest.mark.parametrize(
    ("labels", "options", "uneven"),
    [
        (LABELS, {}, True),
        (LABELS, {"metric": "accuracy"}, False),
        (LABELS, {"metric": "roc_auc"}, False),
        (LABELS, {"class_weight": "balanced"}, False),
        (THREE, {}, False),
        (MANY, {}, True),
        (MANY, {"metric": "micro_f1"}, True),
        (MANY, {"metric": "average_precision"}, False),
        (np.stack([THREE == 0, THREE == 1], axis=1).astype(int), {}, False),
    ],
    ids=repr,
)
def test_classes_are_uneven_where_decisions_would_leave_some_out(labels, options, uneven):
    assert task_of(labels, **options).uneven is uneven


def test_weights_follow_the_training_part_and_the_device():
    task = task_of(class_weight="balanced")
    for other in (*task.folds(5, 0).tasks, task.joined(), task.joined(test=True)):
        known = other.labels[other.parts["train"]]
        wanted = len(known) / (2 * torch.bincount(known))
        assert torch.equal(other.weights, wanted)
    assert task.to("meta").weights.device.type == "meta"
    given = task_of(class_weight={"1": 7})
    assert all(fold.weights.tolist() == [1.0, 7.0] for fold in given.folds(5, 0).tasks)


def test_weights_change_the_loss_and_no_score():
    plain, weighted = task_of(metric="roc_auc"), task_of(metric="roc_auc", class_weight="balanced")
    outputs = (logits_for(plain),)
    assert plain.loss(outputs, "val") != weighted.loss(outputs, "val")
    assert plain.final_scores(outputs, "val") == weighted.final_scores(outputs, "val")


@by_metric
@by_kind
def test_votes_are_scored_as_outputs_are(metric, labels):
    task = task_of(labels, metric=metric)
    outputs = (logits_for(task),)
    votes = task.votes(outputs, "val")
    assert float(task.score_votes(votes, "val")) == pytest.approx(float(task.evaluate(outputs, "val")[1]), abs=1e-12)
    blended = task.blend([outputs, (logits_for(task, 1),)], (0.3, 0.7))
    mean = 0.3 * votes + 0.7 * task.votes((logits_for(task, 1),), "val")
    wanted = float(task.evaluate(blended, "val")[1])
    assert float(task.score_votes(mean, "val")) == pytest.approx(wanted, abs=1e-12)


@by_metric
@by_kind
def test_votes_on_folds_are_scored_on_all_known_nodes(metric, labels):
    task = task_of(labels, metric=metric)
    folds, logits = task.folds(4, 1), logits_for(task)
    gathered = folds.gather([fold.votes((logits,), "val") for fold in folds.tasks])
    known = torch.arange(96)
    wanted = task.ranking(metric, logits[known], task.labels[known])
    assert float(folds.whole.score_votes(gathered, "val")) == pytest.approx(float(wanted), abs=1e-12)


@by_metric
def test_there_are_no_folds_where_one_would_have_no_order(metric):
    labels = np.zeros(N, int)
    labels[[0, 1, 60, 100]] = 1
    task = task_of(labels, metric=metric)
    assert task.folds(5, 0) is None
    assert task.folds(3, 0) is not None
    assert Field.of(problem_of(task)).count == 0
    assert Field.of(problem_of(task_of(labels))).count == 5


@by_metric
def test_chance_is_a_half_or_the_share_of_positives(metric):
    labels = np.where(np.arange(4000) % 10 == 0, 1, 0)
    parts = {"train": range(100), "val": range(100, 200), "test": range(200, 4000)}
    task = NodeClassification.build("paper", labels, **parts, metric=metric)
    logits = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0))
    votes = task.votes((logits,), "test")
    wanted = 0.5 if metric == "roc_auc" else 0.1
    chance, above = chance_of(task, votes, float(task.score_votes(votes, "test")))
    assert chance == pytest.approx(wanted, abs=0.01)
    assert not above
    logits[:, 1] += 3 * torch.from_numpy(labels)
    better = task.votes((logits,), "test")
    chance, above = chance_of(task, better, float(task.score_votes(better, "test")))
    assert chance == pytest.approx(wanted, abs=0.01)
    assert above


def test_the_standard_error_goes_by_the_rare_class():
    plain, ranked = task_of(), task_of(metric="roc_auc")
    assert ranked.standard_error(0.6) == pytest.approx(np.sqrt(0.6 * 0.4 / 3))
    assert plain.standard_error(0.6) == pytest.approx(np.sqrt(0.6 * 0.4 / 36))


def test_answers_are_those_of_any_classification():
    task, plain = task_of(metric="roc_auc", class_weight="balanced"), task_of()
    logits, graph = logits_for(task), problem_of(task).graph
    one, other = (t.answers((logits,), graph, ["p003", "p000"]).to_csv() for t in (task, plain))
    assert one == other


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, []),
        ({"positive": 1}, []),
        ({"positive": 0}, ["positive"]),
        ({"metric": "roc_auc"}, ["metric", "positive"]),
        ({"class_weight": "balanced"}, ["class weights"]),
        ({"class_weight": {1: 2.0}}, ["class weights"]),
    ],
    ids=str,
)
def test_digests_say_what_differs(options, changed):
    before, now = task_of().digests({}), task_of(**options).digests({})
    assert sorted(name for name in before | now if before.get(name) != now.get(name)) == changed


OPTIONS = {
    "nothing": {},
    "an order": {"metric": "average_precision"},
    "the commoner class": {"metric": "average_precision", "positive": "no"},
    "balanced": {"class_weight": "balanced"},
    "weights": {"class_weight": {"yes": 2.5}, "metric": "roc_auc"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1)], ids=str)
def test_what_is_exported_is_read_again(options, classes, tmp_path):
    names = dict(zip(("no", "yes"), classes, strict=True))
    given = {k: names.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
    if isinstance(given.get("class_weight"), dict):
        given["class_weight"] = {names["yes"]: 2.5}
    task = task_of(classes=classes, **given)
    again = read_problem(export_tables(problem_of(task), tmp_path / "it")).task
    assert again.digests({}) == task.digests({})
    assert (again.positive, again.class_weight) == (task.positive, task.class_weight)
    logits = logits_for(task)
    assert torch.equal(again.loss((logits,), "train"), task.loss((logits,), "train"))
    assert again.final_scores((logits,), "test") == task.final_scores((logits,), "test")


def test_the_summary_says_what_chooses_and_what_weighs():
    task = task_of(classes=["no", "yes"], metric="average_precision", class_weight={"yes": 4})
    assert task.describe().endswith("chosen by average_precision of yes; weights of classes: no 1, yes 4")
    assert task_of().describe().endswith("chosen by macro_f1")


def test_no_value_is_read_back_in_an_epoch():
    """On the device `meta` there are no values to read."""
    for labels in KINDS.values():
        task = task_of(labels, metric="roc_auc", class_weight="balanced").to("meta")
        loss, score = task.evaluate((torch.zeros(N, task.outputs, device="meta"),), "val")
        assert loss.device.type == score.device.type == "meta"


def test_a_permuted_task_is_the_same():
    order = np.random.default_rng(0).permutation(N)
    task = task_of(metric="average_precision", class_weight="balanced")
    there, logits = task.permuted({"paper": order}), logits_for(task)
    assert torch.allclose(there.loss((logits[order],), "train"), task.loss((logits,), "train"))
    assert there.evaluate((logits[order],), "val")[1] == task.evaluate((logits,), "val")[1]
    assert there.digests({"paper": np.argsort(order)}) == task.digests({})


def test_weights_are_a_part_of_the_gradient():
    task = replace(task_of(class_weight={1: 10.0}))
    logits = logits_for(task).requires_grad_()
    (found,) = torch.autograd.grad(task.loss((logits,), "train"), logits)
    wanted_loss = functional.cross_entropy(logits[:60], task.labels[:60], weight=torch.tensor([1.0, 10.0]))
    (wanted,) = torch.autograd.grad(wanted_loss, logits)
    torch.testing.assert_close(found, wanted)
