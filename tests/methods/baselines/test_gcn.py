from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from baseline_checks import (
    PROBLEMS,
    SETTINGS,
    assert_same_with_gradients,
    chain,
    dense_union,
    double,
    heads,
    labelled,
    projected,
)
from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines.gcn import GCN
from small_networks import small_world
from worlds import World, worlds


def dense(world: World, model: nn.Module) -> list[Tensor]:
    looped = dense_union(world) + torch.eye(sum(world.num_nodes.values()))
    degree = looped.sum(1)
    h = projected(world, model)
    for number, layer in enumerate(model.layers):
        h = h if number == 0 else h.clamp(min=0)
        h = looped / (degree[:, None] * degree).sqrt() @ h @ layer.weight + layer.bias
    return heads(world, model, h)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_equals_the_dense_formula(kind, layers):
    problem = double(PROBLEMS[kind]())
    model = GCN(layers=layers).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = GCN(layers=layers).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = GCN(layers=2).network(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)
    grads = torch.autograd.grad(model(problem.graph)[0].square().sum(), list(model.parameters()))
    assert all(g.any() for g in grads)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_dropout_comes_from_the_generator_alone(kind):
    problem = PROBLEMS[kind]()
    model = GCN().network(problem, SETTINGS, 0).train()
    outputs = []
    for seed, ambient in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        outputs.append(model(problem.graph, torch.Generator().manual_seed(seed))[0])
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_bad_options():
    for layers in (0, "two"):
        with pytest.raises(DiffmgError, match="layers"):
            GCN(layers=layers)
