from __future__ import annotations

import gc
from types import SimpleNamespace
from weakref import ref

import pytest
import torch
from torch import Tensor, nn

from diffmg.core.engine import Engine
from diffmg.methods.search.diffmg import DiffMG
from diffmg.training import Epoch, Training
from diffmg.training.epochs import EpochRunner, adam, update
from replaying import in_blocks

CPU = SimpleNamespace(device=torch.device("cpu"), engine=Engine())
"""The only attributes of a network used here."""


class Count:
    """A step that reports numbers derived from the epoch and records its calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, done: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        assert done.shape == (1,)
        self.calls.append(done.item())
        epoch = done.item() + 1
        loss = torch.tensor(float(epoch), requires_grad=True)
        return 2 * loss, torch.tensor(-epoch / 3), torch.tensor(epoch / 3, dtype=torch.float64)


def record(epoch: int) -> Epoch:
    """What `Count` reports: the second number in single precision, the third in double."""
    return Epoch(epoch, 2.0 * epoch, torch.tensor(-epoch / 3).item(), epoch / 3)


class Two(nn.Module):
    """Parameters of which a loss may reach one or both."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.one = nn.Parameter(torch.randn(3, 4, generator=draw))
        self.two = nn.Parameter(torch.randn(5, generator=draw))

    def loss(self, *names: str) -> Tensor:
        return sum(((getattr(self, name) - 1) ** 2).sum() for name in names)


def plain_adam(module: nn.Module, **options) -> torch.optim.Adam:
    return torch.optim.Adam(module.parameters(), **options)


def test_steps_are_told_how_many_epochs_are_done_and_recorded():
    count = Count()
    steps = EpochRunner(count, CPU, total=3)
    assert [steps.advance(epoch) for epoch in range(3)] == [[record(1)], [record(2)], [record(3)]]
    assert count.calls == [0, 1, 2]


def test_records_are_plain_numbers_in_double_precision():
    (found,) = EpochRunner(Count(), CPU, total=1).advance(0)
    assert found.val_score == 1 / 3
    assert {type(x) for x in (found.train_loss, found.val_loss, found.val_score)} == {float}


def test_steps_go_on_after_any_epoch():
    """As after a resume: this runner has not run an epoch yet."""
    count = Count()
    steps = EpochRunner(count, CPU, total=9)
    assert steps.advance(6) == [record(7)]
    assert steps.advance(7) == [record(8)]
    assert count.calls == [6, 7]


@pytest.mark.parametrize(("start", "wanted"), [(0, [1, 2, 3, 4]), (4, [5, 6, 7, 8]), (7, [8, 9]), (8, [9])])
def test_a_block_of_steps_ends_with_the_total(start, wanted, monkeypatch):
    count = Count()
    steps = EpochRunner(count, CPU, total=9)
    in_blocks(steps, 4, monkeypatch)
    assert steps.advance(start) == [record(epoch) for epoch in wanted]
    assert count.calls == [epoch - 1 for epoch in wanted]


def test_what_is_replayed_is_recorded_by_the_number_of_epochs_done(monkeypatch):
    """A replay calls the step without arguments: the epoch count is a tensor on the device."""
    steps = EpochRunner(Count(), CPU, total=6)
    replay = in_blocks(steps, 3, monkeypatch)
    assert [e.epoch for e in steps.advance(2)] == [3, 4, 5]
    assert [e.epoch for e in steps.advance(5)] == [6]
    assert replay.asked == [3, 1]
    assert replay.waited == 2
    assert steps.done.item() == 6


def test_what_was_launched_is_waited_for_and_not_done_again(monkeypatch):
    count = Count()
    steps = EpochRunner(count, CPU, total=5)
    replay = in_blocks(steps, 3, monkeypatch)
    steps.launch(0)
    steps.launch(0)
    assert (count.calls, replay.waited) == ([0, 1, 2], 0)
    assert steps.advance(0) == [record(1), record(2), record(3)]
    assert steps.advance(3) == [record(4), record(5)]
    assert count.calls == [0, 1, 2, 3, 4]
    assert (replay.asked, replay.waited) == ([3, 2], 2)


def test_on_a_cpu_nothing_is_launched():
    count = Count()
    steps = EpochRunner(count, CPU, total=2)
    steps.launch(0)
    assert count.calls == []
    assert steps.advance(0) == [record(1)]


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_is_torchs_over_several_steps(weight_decay):
    ours, theirs = Two(), Two()
    options = {"lr": 0.05, "weight_decay": weight_decay}
    optimizer, wanted = adam(list(ours.parameters()), **options), plain_adam(theirs, **options)
    for _ in range(6):
        update(optimizer, ours.loss("one", "two"))
        wanted.zero_grad()
        theirs.loss("one", "two").backward()
        wanted.step()
        torch.testing.assert_close(dict(ours.named_parameters()), dict(theirs.named_parameters()))
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            got, expected = optimizer.state[p], wanted.state[q]
            assert got.keys() == expected.keys()
            torch.testing.assert_close(got, expected)


def test_adams_moments_are_there_from_the_start_and_stay_where_they_are():
    module = Two()
    optimizer = adam(list(module.parameters()), lr=0.1, weight_decay=0.0)
    before = {id(p): dict(optimizer.state[p]) for p in module.parameters()}
    for state in before.values():
        assert {name: t.abs().sum().item() for name, t in state.items()} == {"step": 0, "exp_avg": 0, "exp_avg_sq": 0}
    update(optimizer, module.loss("one", "two"))
    for p in module.parameters():
        assert all(optimizer.state[p][name] is t for name, t in before[id(p)].items())
        assert optimizer.state[p]["step"].item() == 1


def test_an_update_is_one_step_down_the_gradient_of_this_loss_alone():
    ours, theirs = Two(), Two()
    optimizer, wanted = adam(list(ours.parameters()), 0.1, 0.0), plain_adam(theirs, lr=0.1)
    for p in ours.parameters():
        p.grad = torch.full_like(p, 100.0)
    update(optimizer, ours.loss("one", "two"))
    theirs.loss("one", "two").backward()
    wanted.step()
    torch.testing.assert_close(list(ours.parameters()), list(theirs.parameters()))


def test_parameters_the_loss_does_not_reach_have_gradient_zero_and_decay():
    ours, theirs = Two(), Two()
    options = {"lr": 0.05, "weight_decay": 0.1}
    optimizer, wanted = adam(list(ours.parameters()), **options), plain_adam(theirs, **options)
    start = ours.two.detach().clone()
    for names in (("one",), ("one", "two"), ("one",), ("two",)):
        update(optimizer, ours.loss(*names))
        wanted.zero_grad()
        theirs.loss(*names).backward()
        for name, p in theirs.named_parameters():
            if name not in names:
                assert p.grad is None
                assert torch.equal(getattr(ours, name).grad, torch.zeros_like(p))
                p.grad = torch.zeros_like(p)
        wanted.step()
        torch.testing.assert_close(list(ours.parameters()), list(theirs.parameters()))
    assert {s["step"].item() for s in optimizer.state.values()} == {4}
    assert not torch.equal(ours.two, start)


def test_an_update_leaves_parameters_of_others_alone():
    """The architecture's update must not move the weights."""
    module, other = Two(), Two()
    before = other.one.detach().clone()
    update(adam(list(module.parameters()), 0.1, 0.1), module.loss("one", "two") + other.loss("one"))
    assert torch.equal(other.one, before)
    assert other.two.grad is None


def test_a_job_that_is_let_go_is_gone_at_once(problem, quick):
    """No reference cycles: the memory of a job must not wait for the garbage collector."""
    gc.disable()
    try:
        search = DiffMG(depth=2, epochs=2).search(problem, quick, 0)
        search.advance()
        training = Training(problem, search.found(), quick, 0)
        training.advance()
        gone = [ref(search), ref(search.model), ref(training), ref(training.model)]
        del search, training
        assert [reference() for reference in gone] == [None] * 4
    finally:
        gc.enable()
