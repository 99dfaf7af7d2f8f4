from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from baseline_checks import PROBLEMS, SETTINGS, assert_same_with_gradients, double, heads, labelled, projected
from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.methods.baselines._reach import mean_over_neighbours, relations_by_layer
from diffmg.methods.baselines.rgcn import RGCN
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from oracle import adjacency
from small_networks import AA, AB, AB2, AC, BA, BB, CB, small_recommendation, small_world
from worlds import World, worlds

ALL = [AB, BA, AB2, BB, AA, CB, AC]
REACHING = {"classification": [ALL, ALL, [AB, AB2, BB, CB]], "recommendation": [ALL, ALL, [BA, AA, AC]]}
"""In a model of three layers, the relations that matter to nodes of b, or to those of a and c; by hand."""


def dense(world: World, model: nn.Module, reaching: list[list[Relation]]) -> list[Tensor]:
    h = projected(world, model)
    for number, (layer, relations) in enumerate(zip(model.layers, reaching, strict=True)):
        h = h if number == 0 else h.clamp(min=0)
        new = h @ layer.own + layer.bias
        for place, relation in enumerate(relations):
            a = adjacency(world, relation)
            total = a.sum(1, keepdims=True)
            mean = torch.from_numpy(np.divide(a, total, out=np.zeros_like(a), where=total > 0))
            if layer.mixture is None:
                weight = layer.matrices[place]
            else:
                weight = sum(c * m for c, m in zip(layer.mixture[place], layer.matrices, strict=True))
            new = new + mean @ h @ weight
        h = new
    return heads(world, model, h)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("layers", "bases"), [(1, 0), (2, 1), (3, 0), (3, 3)])
def test_equals_the_dense_formula(kind, layers, bases):
    """Relations into types that the targets do not read later change nothing: the oracle computes all rows."""
    problem = double(PROBLEMS[kind]())
    model = RGCN(layers=layers, bases=bases).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model, REACHING[kind][-layers:]), model)


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = RGCN(layers=layers).network(problem, SETTINGS, 3).double().eval()
    somewhere = [r for r in world.edges if adjacency(world, r).any()]
    reaching = relations_by_layer(somewhere, problem.task.target_types, layers)
    assert_same_with_gradients(model(problem.graph), dense(world, model, reaching), model)


@pytest.mark.parametrize("bases", [0, 2])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_parameter_reaches_the_targets(kind, bases):
    problem = PROBLEMS[kind]()
    model = RGCN(layers=3, bases=bases).network(problem, SETTINGS, 0).eval()
    loss = sum(z.square().sum() for z in model(problem.graph))
    for name, g in zip(
        dict(model.named_parameters()), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        slices = g if g.ndim == 3 else [g]
        assert all(part.any() for part in slices), name


def test_mean_is_weighted_and_leaves_nodes_without_neighbours_alone():
    world = World({"a": 3, "b": 3}, {AB: np.array([[0, 1, 2], [0, 0, 1]])}, {AB: np.array([1.0, 3.0, 0.0])})
    mean = mean_over_neighbours(world.graph().adjacency[AB])
    assert mean.toarray().tolist() == [[0.25, 0.75, 0], [0, 0, 0], [0, 0, 0]]
    assert mean.nnz == 2


def test_a_target_that_no_relation_leads_to_has_its_features():
    world = World({"a": 4, "b": 2}, {AB: np.array([[0, 1], [0, 1]])})
    task = NodeClassification.build("a", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    model = RGCN(bases=2).network(Problem(world.graph(), task), SETTINGS, 0).eval()
    assert model.types == ("a",)
    assert all(layer.matrices is None and layer.mixture is None for layer in model.layers)
    assert model(world.graph())[0].shape == (4, 2)


def test_bad_options():
    for wrong in ({"bases": -1}, {"layers": 0}):
        with pytest.raises(DiffmgError, match=next(iter(wrong))):
            RGCN(**wrong)


def test_recommendation_has_no_head():
    problem = small_recommendation()
    users, items = RGCN().network(problem, SETTINGS, 0).eval()(problem.graph)
    assert (users.shape, items.shape) == ((10, 6), (4, 6))
