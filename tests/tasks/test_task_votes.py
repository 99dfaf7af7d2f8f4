"""What an ensemble and a race need of a task: votes, folds, joined parts, known labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.datasets import load_dataset
from diffmg.tasks import NodeClassification, NodeRegression, Recommendation
from diffmg.tasks.labels import fold_numbers

MANY = [[0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [1, 1], [-1, -1]]
NUMBERS = [[3, 90], [5, 70], [4, 20], [7, 10], [1, 60], [6, 80], [2, 50], [np.nan, np.nan]]
SPLIT = {"train": [0, 1, 2, 5], "val": [3, 4], "test": [6]}
PAIRS = {"train": [[0, 1], [2, 3]], "val": [[1, 2], [0, 2]], "test": [[0, 4], [3, 0]]}
OTHERS = {"train": [[0, 0], [1, 1], [3, 3]], "val": [[2, 2]], "test": [[2, 0]]}


@dataclass(frozen=True, repr=False)
class Grades(NodeClassification):
    """Scores of its own."""

    metrics: ClassVar = {"distance": "min"}
    metric: str = "distance"

    def scores(self, outputs, part):
        """How far off the grades are on average."""
        index = self.parts[part]
        return {"distance": (self.decide(outputs[0][index]) - self.labels[index]).abs().float().mean()}


@dataclass(frozen=True, repr=False)
class Worst(NodeRegression):
    """Scores of its own."""

    metrics: ClassVar = {"worst": "min"}
    metric: str = "worst"

    def scores(self, outputs, part):
        """The largest error."""
        index = self.parts[part]
        return {"worst": (self.scale.restored(outputs[0][index]) - self.values[index]).abs().max()}


TASKS = {
    "one label": NodeClassification.build("paper", [0, 1, 2, 0, 1, 2, 1, -1], **SPLIT),
    "several labels": NodeClassification.build("paper", MANY, **SPLIT),
    "pairs": Recommendation.build("user", "item", (4, 5), PAIRS, OTHERS),
    "numbers": NodeRegression.build("paper", NUMBERS, **SPLIT),
}
_one, _number = TASKS["one label"], TASKS["numbers"]
TASKS["scores of its own"] = Grades(_one.target, _one.labels, _one.parts, _one.classes)
TASKS["numbers, scores of its own"] = Worst("paper", _number.values, _number.parts, _number.scale, _number.names)
by_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def outputs_for(task, seed):
    """Outputs of a model, as many rows and columns as the task needs."""
    draw = torch.Generator().manual_seed(seed)
    rows = task.shape if isinstance(task, Recommendation) else (8,)
    return tuple(torch.randn(n, task.outputs or 3, generator=draw) for n in rows)


@by_task
@pytest.mark.parametrize("part", ["val", "test"])
def test_the_votes_of_an_ensemble_are_the_weighted_sum_of_its_members(task, part):
    several, weights = [outputs_for(task, seed) for seed in range(3)], (0.5, 0.2, 0.3)
    blended = task.votes(task.blend(several, weights), part)
    wanted = sum(w * task.votes(z, part) for w, z in zip(weights, several, strict=True))
    assert torch.allclose(blended, wanted, atol=1e-5)


@by_task
def test_an_ensemble_of_one_is_that_model(task):
    one = outputs_for(task, 0)
    blended = task.blend([one], (1.0,))
    assert task.votes(blended, "val").allclose(task.votes(one, "val"), atol=1e-5)
    found, wanted = task.scores(blended, "val"), task.scores(one, "val")
    assert all(found[name] == wanted[name] for name in wanted)


@by_task
def test_votes_are_scored_as_outputs_are(task):
    outputs = outputs_for(task, 1)
    assert len(task.votes(outputs, "val")) == task.size("val")
    assert task.score_votes(task.votes(outputs, "val"), "val") == task.evaluate(outputs, "val")[1]


def test_pair_scores_are_made_comparable_and_as_sure_as_they_should_be():
    task, outputs = TASKS["pairs"], outputs_for(TASKS["pairs"], 2)
    votes = task.votes(outputs, "val")
    assert float((votes * task.vote_scale(votes)).std()) == pytest.approx(1)
    factor = task.vote_calibration(votes, "val")

    def loss(x):
        return float(task.loss((x * outputs[0], outputs[1]), "val"))

    assert loss(factor) <= min(loss(x) for x in (0.1, 0.5, 1.0, 2.0, 5.0)) + 1e-4


@given(st.lists(st.integers(0, 3), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_every_class_is_spread_evenly_over_the_folds(labels, count, seed):
    labels = np.asarray(labels)
    number = fold_numbers(labels, count, seed)
    sizes = Counter(number.tolist())
    assert set(sizes) <= set(range(count))
    assert max(sizes.values()) - min(sizes.get(k, 0) for k in range(count)) <= 1
    for label in set(labels.tolist()):
        each = [int(((number == k) & (labels == label)).sum()) for k in range(count)]
        assert max(each) - min(each) <= 1


@pytest.mark.parametrize("name", ["scores of its own", "numbers, scores of its own"])
def test_a_task_with_scores_of_its_own_has_a_standard_error(name):
    assert TASKS[name].standard_error(2.5) == 0


@pytest.mark.parametrize("labels", [False, True], ids=["one label", "several labels"])
def test_each_labelled_node_is_in_one_validation_part_and_the_test_part_is_untouched(labels):
    task = load_dataset("academic:400").task
    if labels:
        task = NodeClassification.build(
            "author",
            torch.nn.functional.one_hot(task.labels, 4).numpy(),
            **{part: index.numpy() for part, index in task.parts.items()},
        )
    folds = task.folds(5, seed=3)
    known = sorted([*task.parts["train"].tolist(), *task.parts["val"].tolist()])
    judged = Counter(i for fold in folds.tasks for i in fold.parts["val"].tolist())
    assert judged == Counter(known)
    assert folds.whole.parts["val"].tolist() == known
    for fold in folds.tasks:
        train, val = (set(fold.parts[part].tolist()) for part in ("train", "val"))
        assert train | val == set(known)
        assert not train & val
        assert torch.equal(fold.parts["test"], task.parts["test"])
        if not labels:
            each = torch.bincount(task.labels[fold.parts["val"]], minlength=4)
            assert each.max() - each.min() <= 1 + torch.bincount(task.labels[known]).max() // 5


def test_folds_are_drawn_by_their_seed():
    task = load_dataset("academic:400").task
    one, same, other = (task.folds(3, seed).tasks[0].parts["val"].tolist() for seed in (0, 0, 1))
    assert one == same != other


def test_votes_on_folds_come_back_in_the_order_of_the_whole():
    task = load_dataset("academic:400").task
    folds = task.folds(4, seed=1)
    logits = torch.randn(len(task.labels), 4, generator=torch.Generator().manual_seed(0))
    gathered = folds.gather([fold.votes((logits,), "val") for fold in folds.tasks])
    assert torch.equal(gathered, folds.whole.votes((logits,), "val"))


def test_pairs_have_no_folds():
    assert TASKS["pairs"].folds(5, 0) is None


@pytest.mark.parametrize("test", [False, True])
def test_joined_parts_of_labels_train_on_them_all(test):
    task = TASKS["one label"]
    joined = task.joined(test=test)
    wanted = [*SPLIT["train"], *SPLIT["val"], *(SPLIT["test"] if test else [])]
    assert sorted(joined.parts["train"].tolist()) == sorted(wanted)
    assert joined.parts["test"].tolist() == SPLIT["test"]


@pytest.mark.parametrize("test", [False, True])
def test_joined_parts_of_pairs_have_the_loss_of_all_pairs(test):
    parts = ("train", "val", "test") if test else ("train", "val")
    together = [
        {"train": [row for part in parts for row in given[part]], "val": given["val"]} for given in (PAIRS, OTHERS)
    ]
    task, outputs = TASKS["pairs"], outputs_for(TASKS["pairs"], 3)
    joined = task.joined(test=test)
    rows = [np.array(t["train"]) for t in together]
    scores = [(outputs[0][r[:, 0]] * outputs[1][r[:, 1]]).sum(dim=1) for r in rows]
    logsigmoid = torch.nn.functional.logsigmoid
    wanted = -logsigmoid(scores[0]).mean() - logsigmoid(-scores[1]).mean()
    assert joined.loss(outputs, "train").item() == pytest.approx(wanted.item(), rel=1e-5)
    assert joined.size("test") == task.size("test")


def test_known_labels_are_those_of_training_alone():
    wanted = torch.zeros(8, 3)
    for node, label in ((0, 0), (1, 1), (2, 2), (5, 2)):
        wanted[node, label] = 1
    assert torch.equal(TASKS["one label"].known_labels(), wanted)
    several = TASKS["several labels"].known_labels()
    assert several[SPLIT["train"]].tolist() == [MANY[i] for i in SPLIT["train"]]
    assert not several[[3, 4, 6, 7]].any()
    assert TASKS["pairs"].known_labels() is None
