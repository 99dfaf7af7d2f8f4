"""Many trainings as one program of the fused kernels, against single trainings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from diffmg.core.engine import Engine
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.engine import batched_sharing
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.batched import BatchedTrainer, Trained, Trial, train_batched
from diffmg.training.batched_loading import programs_of
from resuming import run
from small_networks import AC, BA, small_classification, small_recommendation, small_unbalanced

pytest.importorskip("triton", reason="the fused kernels are written in Triton, which is not installed")

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch draws other numbers on a CPU")
BASE = Settings(dim=6, lr=0.03, dropout=0.0, max_epochs=1, patience=None)
SWITCHES = {
    "the paper's": {},
    "no norm": {"layer_norm": False},
    "relu": {"activation": "relu"},
    "no activation": {"activation": "none", "weight_decay": 0.1},
    "tanh": {"tanh": True},
    "no shared map": {"shared_map": False},
    "shared tables": {"shared_tables": True, "tanh": True},
    "biases": {"biases": True, "lr": 0.01},
    "mean of neighbours": {"aggregate": "mean", "self_loops": False},
    "sum of neighbours": {"aggregate": "sum"},
}
MODULES = ("training.batched", "training.batched_epochs", "training.batched_loading", "nn.batched")
PROBLEMS = {"classification": small_classification, "recommendation": small_recommendation}


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches go through the kernels, also in the interpreter on a CPU."""
    for module in MODULES:
        monkeypatch.setattr(f"diffmg.{module}.fused", lambda graph: True)


@pytest.fixture(params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest, device: torch.device) -> Problem:
    """Each kind of task in turn, on the device."""
    return PROBLEMS[request.param]().to(device, Engine())


def drawn(problem: Problem, depth: int, seed: int) -> tuple[MetaGraph, ...]:
    """Meta graphs drawn at random."""
    return tuple(RandomMetaGraph(depth=depth).search(problem, BASE, seed).found())


def assert_same(problem: Problem, trials: Sequence[Trial], found: Sequence[Trained], tolerance: float = 1e-5) -> None:
    """What single trainings give, in order."""
    for trial, one in zip(trials, found, strict=True):
        single = Training(problem, trial.metagraphs, trial.settings, trial.seed)
        run(single)
        assert (one.epochs, one.best_epoch) == (single.epoch, single.best_epoch)
        assert one.best_score == pytest.approx(single.best_score, abs=tolerance)
        assert one.val_loss == pytest.approx(float(single.steps.records[single.best_epoch - 1, 1]), abs=tolerance)
        for name, value in single.best_model().state_dict().items():
            assert torch.allclose(one.weights[name], value.cpu(), atol=10 * tolerance), name


def gradients(
    problem: Problem, trials: Sequence[Trial], plain: pytest.MonkeyPatch | None = None
) -> dict[str, tuple[Tensor, Tensor]]:
    """Per parameter, which parts a slot has, and the gradients of all slots."""
    if plain is not None:
        for module in MODULES:
            plain.setattr(f"diffmg.{module}.fused", lambda graph: False)
    trainer = BatchedTrainer(problem, len(trials))
    epochs = trainer._program((BASE.dim, BASE.balance), trials)
    for slot, trial in enumerate(trials):
        epochs.load(slot, epochs.prepare(trainer.on_host, trial))
    epochs.slots.upload()
    return {name: (epochs.slots[f"there.{name}"], g) for name, g in epochs.gradients().items()}


def test_every_switch_in_one_batch(problem):
    trials = [
        Trial(drawn(problem, 2 + n % 2, n), replace(BASE, **switches), n)
        for n, switches in enumerate(SWITCHES.values())
    ]
    assert_same(problem, trials, train_batched(problem, trials, 4))


@pytest.mark.parametrize("links", ["sum", "mean"])
def test_several_operations_on_a_link(device, links):
    problem, settings = small_recommendation().to(device), replace(BASE, links=links)
    several = (
        MetaGraph("a", ((BA, IDENTITY), (EMPTY,), (BA, IDENTITY))),
        MetaGraph("c", ((AC,), (AC, IDENTITY), (IDENTITY,))),
    )
    trials = [Trial(several, settings, 1), Trial(several[::-1], replace(settings, tanh=True), 2)]
    assert_same(problem, trials, train_batched(problem, trials))


def test_products_that_are_shared(problem, monkeypatch):
    trials = [Trial(drawn(problem, 4, n), BASE, n) for n in range(6)]
    monkeypatch.setattr(batched_sharing, "HEAVY", 2**31)
    apart = sum(len(p.messages) for t in trials for p in programs_of(t, 4, problem.graph))
    monkeypatch.setattr(batched_sharing, "HEAVY", 0)
    assert sum(len(p.messages) for t in trials for p in programs_of(t, 4, problem.graph)) < apart
    assert_same(problem, trials, train_batched(problem, trials))


def test_slots_are_filled_again(problem):
    settings = replace(BASE, max_epochs=3, patience=1)
    trials = [Trial(drawn(problem, 2, n), settings, n) for n in range(3)]
    assert_same(problem, trials, train_batched(problem, trials, 2))


@needs_gpu
def test_a_metric_of_an_order_and_weights_of_classes(device):
    """The kernels know nothing of them, but they are captured with the epochs."""
    problem = small_unbalanced().to(device, Engine())
    trials = [Trial(drawn(problem, 2, n), replace(BASE, max_epochs=4), n) for n in range(3)]
    assert_same(problem, trials, train_batched(problem, trials, 2))


def test_gradients_are_those_of_plain_torch(problem, monkeypatch):
    """Long rows are split here, as they are in large networks."""
    monkeypatch.setattr("diffmg.engine.batched_tables.CHUNK", 2)
    trials = [Trial(drawn(problem, 1 + n, n), replace(BASE, **list(SWITCHES.values())[n + 3]), n) for n in range(4)]
    found, wanted = gradients(problem, trials), gradients(problem, trials, monkeypatch)
    for name, (there, reference) in wanted.items():
        assert torch.equal(found[name][0], there)
        assert torch.allclose(found[name][1][there > 0], reference[there > 0], rtol=1e-4, atol=1e-6), name


@needs_gpu
@pytest.mark.parametrize(
    "switches", [{}, {"shared_tables": True}, {"shared_map": False}, {"tanh": True, "dropout": 0.2}]
)
@pytest.mark.parametrize("data", ["academic:4000", "shop:3000"])
def test_dropout_draws_the_numbers_of_a_single_training(device, data, switches):
    problem = load_dataset(data).to(device)
    settings = replace(BASE, **{"dim": 64, "lr": 0.001, "dropout": 0.5, **switches})
    trials = [Trial(drawn(problem, 3, n), settings, n) for n in range(3)]
    assert_same(problem, trials, train_batched(problem, trials, 2), 1e-4)


@needs_gpu
def test_dropout_of_towers_of_different_depth(device):
    problem = load_dataset("shop:3000").to(device)
    settings = replace(BASE, dim=64, lr=0.001, dropout=0.5)
    user, item = drawn(problem, 3, 0)[0], drawn(problem, 2, 0)[1]
    trials = [Trial((user, item), settings, 3)]
    assert_same(problem, trials, train_batched(problem, trials), 1e-4)
