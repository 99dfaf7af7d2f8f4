"""Searches by gradient that are compared with the same epoch done by hand."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffmg.core.settings import Settings
from diffmg.methods.search._gradient import ByGradient, GradientSearch
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch

DEPTH = 2
SETTINGS = Settings(dim=6)


def started(options: ByGradient, problem: Problem, seed: int = 0) -> GradientSearch:
    search = replace(options, depth=DEPTH).search(problem, SETTINGS, seed)
    assert isinstance(search, GradientSearch)
    return search


def in_double(options: ByGradient, problem: Problem) -> GradientSearch:
    """A search whose network, weights and λ are in double precision; it can be looked at, not advanced."""
    search = started(options, Problem(problem.graph.to(dtype=torch.float64), problem.task))
    search.model.double()
    for tower in search.towers:
        tower.parameter = tower.parameter.detach().double().requires_grad_()
    return search


def rows(search: GradientSearch, tower: int) -> list[Tensor]:
    """λ of each link of a tower, its candidates only."""
    parameter, counts = search.towers[tower].parameter, search.towers[tower].counts.tolist()
    return [row[:count] for row, count in zip(parameter, counts, strict=True)]


def step_of_weights(search: GradientSearch, loss: Tensor) -> None:
    """One step of Adam from the start, also for the parameters that the loss does not reach."""
    options = search.options
    adam = torch.optim.Adam(search.model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
    adam.zero_grad()
    loss.backward()
    for p in search.model.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    adam.step()


def step_of_lambda(search: GradientSearch, loss: Tensor) -> None:
    """One step of Adam from the start."""
    parameters = [t.parameter for t in search.towers]
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, gradients, strict=True):
            p.sub_(search.options.arch_lr * g / (g.abs() + 1e-8))  # the first step: both moments are those of g


def assert_same(search: GradientSearch, hand: GradientSearch, record: Epoch, wanted: tuple[Tensor, ...]) -> None:
    """A search after its first epoch, and the same done by hand with these losses and this score."""
    seen = [record.epoch, record.train_loss, record.val_loss, record.val_score]
    torch.testing.assert_close(seen, [1, *(w.item() for w in wanted)], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(list(search.model.parameters()), list(hand.model.parameters()))
    ours, theirs = ([t.parameter.detach() for t in s.towers] for s in (search, hand))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=3e-6)  # a hundredth of a step: g / (|g| + 1e-8) magnifies
