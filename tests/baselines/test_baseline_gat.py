from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from test_baseline_gcn import (
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
from torch import Tensor, nn

from diffmg.baselines import make_baseline
from diffmg.baselines.gat import Links
from diffmg.errors import DiffmgError
from diffmg.train import ModelTraining, TrainSettings
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
@pytest.mark.parametrize(("layers", "count"), [(1, 2), (3, 3), (2, 1), (2, 6)])
def test_equals_the_dense_formula(kind, layers, count):
    problem = double(PROBLEMS[kind]())
    model = make_baseline("gat", {"layers": layers, "heads": count}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = make_baseline("gat", {"layers": layers, "heads": 1}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = make_baseline("gat", {"layers": 2, "heads": 2}).build(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_pyg_computes_the_same():
    conv = pytest.importorskip("torch_geometric.nn").GATConv
    problem = double(small_classification())
    model = make_baseline("gat", {"layers": 1, "heads": 2}).build(problem, SETTINGS, 0).double().eval()
    near = dense_union(small_world())
    layer, theirs = model.layers[0], conv(6, 3, heads=2).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(layer.weight.T)
        theirs.att_dst.copy_(layer.own.view(1, 2, 3))
        theirs.att_src.copy_(layer.other.view(1, 2, 3))
    h = projected(small_world(), model)
    wanted = theirs(h, near.nonzero().T.flip(0))
    torch.testing.assert_close(layer(h, model.links, lambda a: a), wanted)


def test_links_that_occur_twice_and_large_logits():
    links = Links(np.array([[1, 0], [0, 0], [0, 1], [0, 1], [1, 1]]), 2, 1)
    assert links.order.tolist() == [1, 2, 3, 0, 4]
    logits = torch.tensor([[1000.0, 1000.0, 1000.0, -2000.0, -1000.0]], requires_grad=True)
    attention = links.softmax(logits)
    torch.testing.assert_close(attention, torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0.0, 1.0]]))
    x = torch.tensor([[[3.0], [6.0]]], requires_grad=True)
    z = links.gather(attention, x)
    torch.testing.assert_close(z, torch.tensor([[5.0], [6.0]]))
    z.sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[[1 / 3], [5 / 3]]]))
    torch.testing.assert_close(logits.grad, torch.tensor([[-2 / 3, 1 / 3, 1 / 3, 0.0, 0.0]]))


def test_gradients_by_finite_differences():
    """Attention that is dropped or mixed is no softmax any more."""
    edges = np.array([[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [0, 2]])
    links = Links(edges, 3, 2)
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 6, dtype=torch.float64, generator=draw, requires_grad=True)
    x = torch.randn(2, 3, 2, dtype=torch.float64, generator=draw, requires_grad=True)
    factors = torch.rand(2, 6, dtype=torch.float64, generator=draw)
    assert torch.autograd.gradcheck(lambda e, x: links.gather(links.softmax(e) * factors, x), (logits, x))


@pytest.mark.parametrize("share", [0.0, 0.6])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_dropout_comes_from_the_generator_alone(kind, share):
    problem = PROBLEMS[kind]()
    model = make_baseline("gat", OPTIONS | {"attention_dropout": share}).build(problem, SETTINGS, 0).train()
    outputs = []
    for seed, ambient in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        outputs.append(model(problem.graph, torch.Generator().manual_seed(seed))[0])
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("name", ["gat", "simple_hgn"])
def test_dropout_of_attention_keeps_the_mean_and_ends_with_training(name):
    """With one layer a head's output is linear in the attention: many draws have the mean of none."""
    problem = double(PROBLEMS["recommendation"]())
    settings = TrainSettings(dim=6, dropout=0.0)
    options = {"layers": 1, "heads": 2, "attention_dropout": 0.5}
    model = make_baseline(name, options).build(problem, settings, 0).double()
    wanted = model.eval()(problem.graph)[0]
    assert torch.equal(wanted, model(problem.graph, torch.Generator().manual_seed(1))[0])
    draw = torch.Generator().manual_seed(0)
    draws = torch.stack([model.train()(problem.graph, draw)[0].detach() for _ in range(400)])
    assert (draws.std(0) > 0).all()
    if name == "gat":
        error = (draws.mean(0) - wanted).abs() / (draws.std(0) / 20)
        assert error.max() < 5


@pytest.mark.parametrize("kind", PROBLEMS)
def test_trains(kind):
    problem = PROBLEMS[kind]()
    model = make_baseline("gat", OPTIONS).build(problem, SETTINGS, 0)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}
    training = ModelTraining(problem, model, SETTINGS, 0)
    while not training.done:
        training.advance()
    assert all(z.isfinite().all() for z in training.best_model().eval()(problem.graph))


def test_bad_options():
    with pytest.raises(DiffmgError, match=r"`heads >= 1` must hold, but got GAT\(layers=4, heads=0, .*\)"):
        make_baseline("gat", {"heads": 0})
    with pytest.raises(DiffmgError, match="`layers >= 1` must hold"):
        make_baseline("gat", {"layers": 0})
    with pytest.raises(DiffmgError, match="`0 <= attention_dropout < 1` must hold"):
        make_baseline("gat", {"attention_dropout": 1.0})
    problem = small_classification()
    with pytest.raises(DiffmgError, match=r"`dim % heads == 0` must hold, but got dim=10 and heads=8; change one"):
        make_baseline("gat").build(problem, TrainSettings(dim=10), 0)
