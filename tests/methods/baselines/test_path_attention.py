from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.methods.baselines._path_attention import Receivers, SemanticAttention, Tower


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def steps(result: torch.Tensor) -> set[str]:
    """Names of all steps that the gradient takes."""
    found, waiting = set(), [result.grad_fn]
    while waiting:
        step = waiting.pop()
        if step is not None and step not in found:
            found.add(step)
            waiting.extend(before for before, _ in step.next_functions)
    return {step.name() for step in found}


def test_means_over_instances_are_the_plain_formula_with_its_gradients():
    """Node 1 has no instance and keeps what it has; scores are large."""
    rows, draw = np.array([0, 0, 0, 2, 2, 3]), torch.Generator().manual_seed(0)
    receivers = Receivers(rows, 4).double()
    shapes = ((4, 2), (6, 2), (6, 2, 3), (4, 6))
    leaves = [torch.randn(s, dtype=torch.float64, generator=draw, requires_grad=True) for s in shapes]
    own, said, states, h = leaves
    factors = torch.rand(6, 2, dtype=torch.float64, generator=draw)
    scores = 1000 * own[rows] + 30 * said
    parts = [scores[rows == node].softmax(0) for node in range(4)]
    weights = torch.cat(parts) * factors
    plain = [(weights[rows == n].unsqueeze(-1) * states[rows == n]).sum(0).flatten() for n in range(4)]
    wanted = torch.stack([h[1] if n == 1 else z for n, z in enumerate(plain)])
    found = receivers.means(receivers.broadcast(1000 * own) + 30 * said, states, h, lambda w: w * factors)
    torch.testing.assert_close(found, wanted)
    probe = torch.randn(found.shape, dtype=torch.float64, generator=draw)
    ways = [torch.autograd.grad((z * probe).sum(), leaves) for z in (found, wanted)]
    torch.testing.assert_close(*ways)
    assert not receivers.state_dict()


@pytest.mark.parametrize("name", ["han", "magnn"])
def test_gradients_hold_no_scattered_sums_and_are_the_same_in_every_run(name, problem):
    settings, runs = Settings(dim=4), []
    for _ in range(2):
        model = MethodSpec(name, {"heads": 2}).make().network(problem, settings, 0).train()
        loss = sum(z.square().sum() for z in model(problem.graph, torch.Generator().manual_seed(0)))
        assert not [step for step in steps(loss) if re.search("index|scatter|gather|take", step, re.IGNORECASE)]
        runs.append(torch.autograd.grad(loss, list(model.parameters())))
    assert all(torch.equal(*grads) for grads in zip(*runs, strict=True))


def test_semantic_attention_is_its_formula():
    attention = SemanticAttention(3, 7, torch.Generator().manual_seed(0)).double()
    states = [draw(4, 3), draw(4, 3) ** 2, -draw(4, 3)]
    scores = []
    for z in states:
        hidden = torch.tanh(z @ attention.inner.weight + attention.inner.bias)
        scores.append(sum(attention.query @ row for row in hidden) / 4)
    powers = torch.stack(scores).exp()
    wanted = sum(p / powers.sum() * z for p, z in zip(powers, states, strict=True))
    torch.testing.assert_close(attention(states), wanted)


def test_one_path_needs_no_attention():
    only = Tower([nn.Identity()], 3, 7, torch.Generator())
    assert not list(only.parameters())
    state = draw(4, 3)
    assert only(state) is state
