from __future__ import annotations

import torch
from torch import nn

from diffmg.training.state import load_module, load_optimizer, module_state, optimizer_state, take


def layer(seed: int) -> nn.Linear:
    made = nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.uniform_(generator=torch.Generator().manual_seed(seed))
    return made


def adam(module: nn.Module) -> torch.optim.Adam:
    return torch.optim.Adam(module.parameters(), lr=0.1, weight_decay=0.01, fused=True)


def step(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    module(torch.arange(6.0).reshape(2, 3)).square().mean().backward()
    optimizer.step()


def test_take_keeps_what_stands_under_a_prefix():
    tensors = {"adam.0.step": torch.ones(1), "adam_2.x": torch.ones(1), "arch_adam.y": torch.ones(1)}
    assert list(take("adam", tensors)) == ["0.step"]


def test_module_round_trip():
    one, other = layer(0), layer(1)
    load_module("model", other, module_state("model", one) | {"else.weight": torch.ones(1)})
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_module_state_is_a_copy():
    module = layer(0)
    state = module_state("model", module)
    with torch.no_grad():
        module.weight.zero_()
    assert state["model.weight"].abs().sum() > 0


def test_optimizer_round_trip_goes_on_as_if_nothing_happened():
    straight, stopped = layer(0), layer(0)
    straight_adam, stopped_adam = adam(straight), adam(stopped)
    for _ in range(3):
        step(straight, straight_adam)
        step(stopped, stopped_adam)
    resumed = layer(1)
    resumed_adam = adam(resumed)
    load_module("m", resumed, module_state("m", stopped))
    load_optimizer("o", resumed_adam, optimizer_state("o", stopped_adam))
    for _ in range(2):
        step(straight, straight_adam)
        step(resumed, resumed_adam)
    assert torch.equal(straight.weight, resumed.weight)


def test_optimizer_state_is_a_copy():
    module = layer(0)
    optimizer = adam(module)
    step(module, optimizer)
    state = optimizer_state("o", optimizer)
    before = {name: t.clone() for name, t in state.items()}
    step(module, optimizer)
    assert all(torch.equal(state[name], before[name]) for name in before)


def test_an_optimizer_without_a_step_has_no_state():
    optimizer = adam(layer(0))
    assert optimizer_state("o", optimizer) == {}
    load_optimizer("o", optimizer, {})
    assert optimizer.state_dict()["state"] == {}


def test_only_parameters_that_were_updated_have_state():
    module = layer(0)
    module.bias.requires_grad_(False)
    optimizer = adam(module)
    step(module, optimizer)
    assert {name.split(".")[1] for name in optimizer_state("o", optimizer)} == {"0"}
