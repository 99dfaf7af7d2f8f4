from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
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
from diffmg.methods.baselines.gat import GAT
from small_networks import small_classification, small_world
from worlds import World, worlds

OPTIONS = {"layers": 3, "heads": 3}


def attend(layer: nn.Module, h: Tensor, near: Tensor) -> Tensor:
    """Head by head, with a logit for every two nodes."""
    parts = []
    columns = h.shape[1] // len(layer.own)
    for head, (own, other) in enumerate(zip(layer.own, layer.other, strict=True)):
        x = h @ layer.weight[:, head * columns : (head + 1) * columns]
        logits = F.leaky_relu(x @ own + (x @ other).T, 0.2)
        parts.append(torch.softmax(logits.masked_fill(near == 0, -torch.inf), dim=1) @ x)
    return torch.cat(parts, dim=1) + layer.bias


def dense(world: World, model: nn.Module) -> list[Tensor]:
    near = dense_union(world) + torch.eye(sum(world.num_nodes.values()))
    h = projected(world, model)
    for number, layer in enumerate(model.layers):
        h = attend(layer, h if number == 0 else F.elu(h), near)
    return heads(world, model, h)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("layers", "count"), [(1, 2), (3, 3), (2, 1)])
def test_equals_the_dense_formula(kind, layers, count):
    problem = double(PROBLEMS[kind]())
    model = GAT(layers=layers, heads=count).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = GAT(layers=layers, heads=1).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = GAT(layers=2, heads=2).network(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_pyg_computes_the_same():
    conv = pytest.importorskip("torch_geometric.nn").GATConv
    problem = double(small_classification())
    model = GAT(layers=1, heads=2).network(problem, SETTINGS, 0).double().eval()
    near = dense_union(small_world())
    layer, theirs = model.layers[0], conv(6, 3, heads=2).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(layer.weight.T)
        theirs.att_dst.copy_(layer.own.view(1, 2, 3))
        theirs.att_src.copy_(layer.other.view(1, 2, 3))
    h = projected(small_world(), model)
    wanted = theirs(h, near.nonzero().T.flip(0))
    torch.testing.assert_close(layer(h, model.links, lambda a: a), wanted)


@pytest.mark.parametrize(("kind", "share"), [("classification", 0.0), ("recommendation", 0.6)])
def test_dropout_comes_from_the_generator_alone(kind, share):
    problem = PROBLEMS[kind]()
    model = GAT(**OPTIONS, attention_dropout=share).network(problem, SETTINGS, 0).train()
    outputs = []
    for seed, ambient in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        outputs.append(model(problem.graph, torch.Generator().manual_seed(seed))[0])
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_bad_options():
    for wrong in ({"heads": 0}, {"layers": 0}, {"attention_dropout": 1.0}):
        with pytest.raises(DiffmgError, match=next(iter(wrong))):
            GAT(**wrong)
