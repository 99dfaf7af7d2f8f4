"""Many trainings as one program, against the same trainings one after another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.datasets.academic import Academic
from diffmg.datasets.shop import Shop
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.batched import BatchedTrainer, Trained, Trial, batchable, train_batched
from diffmg.training.batched_epochs import BatchedEpochs
from resuming import run
from small_networks import AC, BA, small_classification, small_recommendation

BASE = Settings(dim=8, lr=0.03, max_epochs=6, patience=None)
SWITCHES = {
    "the paper's": {},
    "no dropout": {"dropout": 0.0},
    "no norm": {"layer_norm": False},
    "relu": {"activation": "relu"},
    "no activation": {"activation": "none", "layer_norm": False},
    "tanh": {"tanh": True},
    "no shared map": {"shared_map": False},
    "shared tables": {"shared_tables": True},
    "shared tables, no map": {"shared_tables": True, "shared_map": False, "dropout": 0.2},
    "biases": {"biases": True},
    "mean of neighbours": {"aggregate": "mean", "self_loops": False},
    "sum of neighbours": {"aggregate": "sum"},
    "by loss": {"select": "loss"},
    "other numbers": {"lr": 0.01, "weight_decay": 0.1, "dropout": 0.8, "max_epochs": 4},
    "more columns": {"dim": 12},
}


def metagraphs_of(problem: Problem, depth: int, seed: int) -> tuple[MetaGraph, ...]:
    """Drawn at random."""
    return tuple(RandomMetaGraph(depth=depth).search(problem, BASE, seed).found())


def one_by_one(problem: Problem, trials: Sequence[Trial]) -> list[Training]:
    """Each trained alone."""
    trainings = [Training(problem, t.metagraphs, t.settings, t.seed) for t in trials]
    for training in trainings:
        run(training)
    return trainings


def assert_same(found: Sequence[Trained], wanted: Sequence[Training], tolerance: float = 1e-6) -> None:
    """Scores, epochs and weights, in order."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.epochs, one.best_epoch) == (other.epoch, other.best_epoch)
        assert one.best_value == pytest.approx(other.best_value, abs=tolerance, rel=tolerance)
        assert one.best_score == pytest.approx(other.best_score, abs=tolerance, rel=tolerance)
        assert one.val_loss == pytest.approx(float(other.steps.records[other.best_epoch - 1, 1]), abs=tolerance)
        best = other.best_model().state_dict()
        assert set(one.weights) == set(best)
        for name, value in best.items():
            assert one.weights[name].shape == value.shape
            assert torch.allclose(one.weights[name], value.cpu(), atol=10 * tolerance), name


@pytest.mark.parametrize("slots", [1, 3, 64])
def test_each_training_is_what_it_would_be_alone(problem, slots):
    trials = [Trial(metagraphs_of(problem, 3, n), BASE, n) for n in range(5)]
    assert_same(train_batched(problem, trials, slots), one_by_one(problem, trials))


def test_every_switch_in_one_batch(problem):
    trials = [
        Trial(metagraphs_of(problem, 2 + n % 3, n), replace(BASE, **switches), n)
        for n, switches in enumerate(SWITCHES.values())
    ]
    assert all(batchable(problem, trial.settings) for trial in trials)
    assert_same(train_batched(problem, trials, 4), one_by_one(problem, trials))


def test_what_trains_does_not_wait_for_trials_that_are_not_ready(problem, monkeypatch):
    begun, prepare, launch = threading.Event(), BatchedEpochs.prepare, BatchedEpochs.launch

    def prepare_late(self, on_host, trial):
        assert trial.seed < 2 or begun.wait(60)
        return prepare(self, on_host, trial)

    def launch_and_tell(self):
        begun.set()
        return launch(self)

    monkeypatch.setattr(BatchedEpochs, "prepare", prepare_late)
    monkeypatch.setattr(BatchedEpochs, "launch", launch_and_tell)
    trials = [Trial(metagraphs_of(problem, 3, n), BASE, n) for n in range(4)]
    assert_same(train_batched(problem, trials, 2), one_by_one(problem, trials))


def test_trainings_that_even_classes_out_beside_others(classification):
    settings = [replace(BASE, balance=balance) for balance in (0.0, 1.0, 0.5, 1.0)]
    trials = [Trial(metagraphs_of(classification, 3, n), s, n) for n, s in enumerate(settings)]
    assert_same(train_batched(classification, trials), one_by_one(classification, trials))


@pytest.mark.parametrize("links", ["sum", "mean"])
def test_several_operations_on_a_link(links):
    problem, settings = small_recommendation(), replace(BASE, links=links)
    several = (
        MetaGraph("a", ((BA, IDENTITY), (EMPTY,), (BA, IDENTITY))),
        MetaGraph("c", ((AC,), (AC, IDENTITY), (IDENTITY,))),
    )
    trials = [Trial(several, settings, 1), Trial(metagraphs_of(problem, 2, 0), settings, 2)]
    assert_same(train_batched(problem, trials), one_by_one(problem, trials))


def test_dense_and_sparse_features_and_none():
    problem = small_classification()
    trials = [Trial(metagraphs_of(problem, 3, n), replace(BASE, dropout=0.3 * n), n) for n in range(3)]
    assert_same(train_batched(problem, trials), one_by_one(problem, trials))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_training_that_ends_early_makes_room(problem, monkeypatch, lag):
    monkeypatch.setattr(BatchedEpochs, "lag", lag)
    settings = replace(BASE, lr=0.05, max_epochs=16, patience=2)
    planted = Academic.planted if problem.task.outputs else Shop.planted
    trials = [Trial(metagraphs_of(problem, 3, n), settings, n) for n in range(4)] + [Trial(tuple(planted), settings, 9)]
    wanted = one_by_one(problem, trials)
    assert len({training.epoch for training in wanted}) > 1, "at different epochs"
    assert_same(train_batched(problem, trials, 2), wanted)


def test_a_trainer_is_used_again_for_more_and_other_trials(problem):
    trainer = BatchedTrainer(problem, 3)
    first = [Trial(metagraphs_of(problem, 3, n), BASE, n) for n in range(3)]
    trainer.train(first)
    programs = dict(trainer.programs)
    same = [Trial(metagraphs_of(problem, 2, n), replace(BASE, lr=0.01, tanh=True), n) for n in range(2)]
    assert_same(trainer.train(same), one_by_one(problem, same))
    assert trainer.programs == programs, "the same shape needs no new program"
    deeper = [Trial(metagraphs_of(problem, 4, 7), replace(BASE, shared_tables=True, aggregate="sum"), 7)]
    assert_same(trainer.train([*first, *deeper]), one_by_one(problem, [*first, *deeper]))


def test_of_nothing_nothing_comes(classification):
    assert train_batched(classification, []) == []


def test_without_a_number_for_a_score_there_are_no_weights(problem):
    trial = Trial(metagraphs_of(problem, 2, 0), replace(BASE, lr=1e30, layer_norm=False, max_epochs=3), 0)
    (found,) = train_batched(problem, [trial])
    (wanted,) = one_by_one(problem, [trial])
    assert (found.best_epoch, found.epochs) == (wanted.best_epoch, wanted.epoch)
    assert bool(found.weights) == bool(wanted.best)


@pytest.mark.parametrize(
    "switches", [{"states": "mean"}, {"residual": True}, {"counts": True}, {"vectors": True}, {"label_inputs": True},
                 {"input_dropout": 0.1}, {"message_dropout": 0.1}]
)  # fmt: skip
def test_what_a_batch_cannot_train_is_refused(classification, switches):
    settings = replace(BASE, **switches)
    assert not batchable(classification, settings)
    with pytest.raises(DiffmgError, match="batchable"):
        train_batched(classification, [Trial(metagraphs_of(classification, 2, 0), settings)])


def test_a_metric_that_is_not_batched(recommendation):
    other = replace(recommendation, task=replace(recommendation.task, metric="average_precision"))
    assert batchable(recommendation, BASE)
    assert not batchable(other, BASE)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("weight", [None, "balanced", {"field 1": 4.0}], ids=str)
def test_metrics_of_an_order_and_weights_of_classes(classification, metric, weight):
    task = classification.task
    parts = {part: index.numpy() for part, index in task.parts.items()}
    options = {"classes": task.classes, "metric": metric, "class_weight": weight}
    problem = replace(classification, task=NodeClassification.build("author", task.labels.numpy(), **parts, **options))
    assert batchable(problem, BASE)
    trials = [Trial(metagraphs_of(problem, 2, n), BASE, n) for n in range(3)]
    assert_same(train_batched(problem, trials, 2), one_by_one(problem, trials))


def test_there_is_a_slot(classification):
    with pytest.raises(DiffmgError, match="slots=0"):
        train_batched(classification, [], 0)
