from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from diffmg.training.best_weights import ALIGN, BestWeights

NAN, INF = math.nan, math.inf
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


class Odd(nn.Module):
    """Parameters of awkward sizes, one of them a single number."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        for name, shape in {"matrix": (7, 13), "vector": (ALIGN,), "number": (), "long": (ALIGN + 1,)}.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape, generator=draw)))


def set_to(model: nn.Module, value: float) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(value)


def finish_epoch(best_weights: BestWeights, model: nn.Module, epoch: int, value: float) -> None:
    """An epoch after which all parameters are its number."""
    set_to(model, float(epoch))
    best_weights.update(
        torch.tensor([epoch], device=best_weights.buffer.device), torch.tensor(value, device=best_weights.buffer.device)
    )


def kept_after(values: list[float], patience: int | None = None, device: str = "cpu") -> int:
    """The epoch kept when they have these values; 0 for none."""
    model = Odd().to(device)
    best_weights = BestWeights(model, patience)
    for epoch, value in enumerate(values, start=1):
        finish_epoch(best_weights, model, epoch, value)
    best = best_weights.best()
    if not best:
        return 0
    (number,) = {x for p in best.values() for x in p.flatten().tolist()}
    assert number == best_weights.epoch.item()
    assert values[int(number) - 1] == pytest.approx(best_weights.value.item())
    return int(number)


def first_of_the_best(values: list[float], patience: int | None) -> int:
    """A plain reference: stop when patience has run out, keep the first of the highest."""
    best, where = -INF, 0
    for epoch, value in enumerate(values, start=1):
        if patience is not None and epoch - 1 - where >= patience:
            break
        if value > best:
            best, where = value, epoch
    return where


def test_laying_parameters_out_changes_none_of_them():
    plain, laid = Odd(), Odd()
    BestWeights(laid, None)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), laid.parameters(), strict=True))
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in laid.parameters())


def test_parameters_share_one_block_and_start_where_wide_loads_can():
    model = Odd()
    best_weights = BestWeights(model, None)
    storages = {p.untyped_storage().data_ptr() for p in model.parameters()}
    assert storages == {best_weights.buffer.untyped_storage().data_ptr()}
    assert all(p.storage_offset() % ALIGN == 0 for p in model.parameters())
    ends = sorted((p.storage_offset(), p.storage_offset() + p.numel()) for p in model.parameters())
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))
    assert ends[-1][1] <= best_weights.buffer.numel()


def test_a_step_of_an_optimiser_is_seen_in_the_block():
    model = Odd()
    best_weights = BestWeights(model, None)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    sum(p.square().sum() for p in model.parameters()).backward()
    optimizer.step()
    best_weights.update(torch.tensor([1]), torch.tensor(0.0))
    assert all(torch.equal(p, best_weights.best()[name]) for name, p in model.named_parameters())


def test_loading_parameters_leaves_them_in_the_block():
    model = Odd()
    best_weights = BestWeights(model, None)
    model.load_state_dict({name: torch.full_like(p, 3.0) for name, p in model.named_parameters()})
    best_weights.update(torch.tensor([1]), torch.tensor(0.0))
    assert {x for p in best_weights.best().values() for x in p.flatten().tolist()} == {3.0}


def test_nothing_is_kept_before_an_epoch():
    assert BestWeights(Odd(), 3).best() == {}


def test_the_parameters_of_the_best_epoch_are_kept():
    assert kept_after([0.1, 0.5, 0.9, 0.3, 0.8]) == 3


def test_what_is_kept_has_the_names_and_shapes_of_the_model():
    model = Odd()
    best_weights = BestWeights(model, None)
    finish_epoch(best_weights, model, 1, 0.5)
    assert {n: p.shape for n, p in best_weights.best().items()} == {n: p.shape for n, p in model.named_parameters()}
    model.load_state_dict(best_weights.best())


def test_of_equal_epochs_the_first_is_kept():
    assert kept_after([0.1, 0.7, 0.7, 0.7, 0.2]) == 2


def test_an_epoch_that_is_no_number_is_never_kept():
    assert kept_after([NAN, NAN]) == 0
    assert kept_after([NAN, 0.2, NAN]) == 2
    assert kept_after([0.2, NAN, 0.1]) == 1
    assert kept_after([-INF]) == 0


def test_values_are_compared_in_double_precision():
    model = Odd()
    best_weights = BestWeights(model, None)
    for epoch, value in enumerate([0.5, 0.5 + 1e-12], start=1):
        set_to(model, float(epoch))
        best_weights.update(torch.tensor([epoch]), torch.tensor(value, dtype=torch.float64))
    assert best_weights.epoch.item() == 2


def test_epochs_after_patience_ran_out_never_count():
    """However good, and however many run before the host reads the results."""
    assert kept_after([0.5, 0.4, 0.4, 0.9], patience=2) == 1
    assert kept_after([0.5, 0.4, 0.9, 0.4], patience=2) == 3
    assert kept_after([0.5, 0.4, 0.4, 0.6, 0.7, 0.8], patience=1) == 1
    assert kept_after([NAN, NAN, 0.5], patience=2) == 0
    assert kept_after([NAN, 0.5], patience=2) == 2


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("patience", [1, 2, 3, None])
def test_the_rule_by_its_plain_words(patience, device):
    """On a GPU the better one is selected on the device, without a synchronisation."""
    draw = torch.Generator().manual_seed(0)
    for _ in range(60):
        values = (torch.randint(0, 6, (12,), generator=draw) / 5).tolist()
        values = [NAN if v == 0 else v for v in values]
        assert kept_after(values, patience, device) == first_of_the_best(values, patience)


def test_what_is_kept_stays_while_the_model_goes_on():
    model = Odd()
    best_weights = BestWeights(model, None)
    finish_epoch(best_weights, model, 1, 0.9)
    best: dict[str, Tensor] = best_weights.best()
    finish_epoch(best_weights, model, 2, 0.1)
    assert all((p == 1.0).all() for p in best.values())


def test_restored_it_goes_on_as_if_nothing_had_happened():
    values, patience = [0.3, 0.6, 0.5, 0.4, 0.9, 0.2, 0.2, 0.2, 1.0], 3
    for stop in range(1, len(values)):
        models = [Odd(), Odd()]
        straight, before = (BestWeights(m, patience) for m in models)
        for epoch, value in enumerate(values[:stop], start=1):
            finish_epoch(straight, models[0], epoch, value)
            finish_epoch(before, models[1], epoch, value)
        saved = {name: p.clone() for name, p in before.best().items()}
        models[1] = Odd()
        after = BestWeights(models[1], patience)
        after.restore(saved, before.value.item(), int(before.epoch.item()))
        for epoch, value in enumerate(values[stop:], start=stop + 1):
            finish_epoch(straight, models[0], epoch, value)
            finish_epoch(after, models[1], epoch, value)
        assert straight.best().keys() == after.best().keys() == dict(models[0].named_parameters()).keys()
        assert all(torch.equal(p, after.best()[name]) for name, p in straight.best().items())
        assert (after.value, after.epoch) == (straight.value, straight.epoch)


def test_restoring_nothing_is_a_fresh_start():
    model = Odd()
    best_weights = BestWeights(model, 2)
    best_weights.restore({}, -INF, 0)
    assert best_weights.best() == {}
    finish_epoch(best_weights, model, 1, -5.0)
    assert best_weights.epoch.item() == 1
