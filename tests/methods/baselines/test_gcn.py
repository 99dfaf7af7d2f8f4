from __future__ import annotations

import copy

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
from diffmg.methods.baselines import make_baseline
from diffmg.training import ModelTraining
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
    model = make_baseline("gcn", {"layers": layers}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = make_baseline("gcn", {"layers": layers}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = make_baseline("gcn", {"layers": 2}).build(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)
    grads = torch.autograd.grad(model(problem.graph)[0].square().sum(), list(model.parameters()))
    assert all(g.any() for g in grads)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_dropout_comes_from_the_generator_alone(kind):
    problem = PROBLEMS[kind]()
    model = make_baseline("gcn").build(problem, SETTINGS, 0).train()
    outputs = []
    for seed, ambient in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        outputs.append(model(problem.graph, torch.Generator().manual_seed(seed))[0])
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("kind", PROBLEMS)
def test_state_is_parameters_alone_and_copies_compute_the_same(kind):
    problem = PROBLEMS[kind]()
    model = make_baseline("gcn").build(problem, SETTINGS, 0)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}
    training = ModelTraining(problem, model, SETTINGS, 0)
    while not training.done:
        training.advance()
    best = training.best_model().eval()
    torch.testing.assert_close(best(problem.graph), copy.deepcopy(best)(problem.graph))
    assert all(z.isfinite().all() for z in best(problem.graph))


def test_bad_options():
    with pytest.raises(DiffmgError, match=r"`layers >= 1` must hold, but got GCN\(layers=0\)"):
        make_baseline("gcn", {"layers": 0})
    with pytest.raises(DiffmgError, match="`layers` must be a whole number, but got layers='two'"):
        make_baseline("gcn", {"layers": "two"})
