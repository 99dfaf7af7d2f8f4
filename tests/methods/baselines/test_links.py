from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from baseline_checks import PROBLEMS, double
from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.methods.baselines._links import Links, weighted_sums
from diffmg.tasks.pairs import Pairs


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


def test_with_their_gradients_they_are_the_plain_formulas():
    """A link that occurs twice, nodes that no link leads to (1) or from (3), large numbers, two heads."""
    edges = np.array([[3, 2], [0, 1], [0, 1], [2, 2], [0, 0], [2, 0]])
    links, draw = Links(edges, 4, 2), torch.Generator().manual_seed(0)
    target, source = torch.from_numpy(edges[links.order].T)
    shapes = ((2, 4), (2, 4), (2, 4, 3))
    leaves = [(60 * torch.randn(s, dtype=torch.float64, generator=draw)).requires_grad_() for s in shapes]
    own, other, x = leaves
    logits = own[:, target] + other[:, source]
    torch.testing.assert_close(links.of_ends(own, other), logits)
    far = torch.full((2, 4, len(edges)), -torch.inf, dtype=torch.float64)
    by_target = far.index_put((torch.arange(2)[:, None], target, torch.arange(len(edges))), logits)
    attention = torch.stack([by_target[:, t].softmax(1) if t != 1 else 0 * logits for t in range(4)], dim=1)
    wanted = (attention @ x[:, source]).transpose(0, 1).flatten(1)
    found = links.gather(links.softmax(links.of_ends(own, other)), x)
    torch.testing.assert_close(found, wanted)
    assert not found[1].any()
    probe = torch.randn(found.shape, dtype=torch.float64, generator=draw)
    torch.testing.assert_close(*(torch.autograd.grad((z * probe).sum(), leaves) for z in (found, wanted)))


@pytest.mark.parametrize("heads", [1, 3])
def test_heads_are_blocks_of_one_matrix_in_32_bits(heads):
    """As if the links of all heads had been listed; no more than four numbers of 32 bits for each."""
    edges = np.array([[2, 2], [0, 1], [0, 1], [2, 0], [0, 3], [1, 0]])
    copies = np.concatenate([edges + 4 * head for head in range(heads)])
    wanted, order = Pairs.build(copies, 4 * heads, 4 * heads)
    links = Links(edges, 4, heads)
    assert links.order.tolist() == order[: len(edges)].tolist()
    for field in fields(Pairs):
        found = getattr(links.pairs, field.name)
        assert found.dtype == torch.int32, field.name
        assert found.tolist() == getattr(wanted, field.name).tolist(), field.name


def test_weighted_sums_are_a_dense_product():
    """Not square, with a row and a column that no pair has."""
    listed = np.array([[0, 0], [0, 3], [2, 1], [2, 3], [3, 0]])
    pairs, _ = Pairs.build(listed, 4, 5)
    draw = torch.Generator().manual_seed(0)
    weights = torch.randn(5, dtype=torch.float64, generator=draw, requires_grad=True)
    values = torch.randn(5, 3, dtype=torch.float64, generator=draw, requires_grad=True)
    dense = torch.zeros(4, 5, dtype=torch.float64).index_put(tuple(torch.from_numpy(listed.T)), weights)
    found, wanted = weighted_sums(weights, values, pairs, 4), dense @ values
    torch.testing.assert_close(found, wanted)
    probe = torch.randn(4, 3, dtype=torch.float64, generator=draw)
    ways = [torch.autograd.grad((z * probe).sum(), (weights, values)) for z in (found, wanted)]
    torch.testing.assert_close(*ways)


def test_more_pairs_than_places():
    pairs, _ = Pairs.build(np.array([[0, 0], [0, 0], [0, 0]]), 1, 1)
    weights = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    values = torch.tensor([[3.0, 5.0]], dtype=torch.float64, requires_grad=True)
    assert weighted_sums(weights, values, pairs, 1).tolist() == [[21.0, 35.0]]
    assert torch.autograd.gradcheck(lambda w, v: weighted_sums(w, v, pairs, 1), (weights, values))


def test_links_are_no_state():
    assert not Links(np.array([[0, 0], [1, 1]]), 2, 3).state_dict()


@pytest.mark.parametrize("name", ["gat", "simple_hgn"])
def test_dropout_of_attention_keeps_the_mean_and_ends_with_training(name):
    """With one layer a head's output is linear in the attention: many draws have the mean of none."""
    problem = double(PROBLEMS["recommendation"]())
    settings = Settings(dim=6, dropout=0.0)
    options = {"layers": 1, "heads": 2, "attention_dropout": 0.5}
    model = MethodSpec(name, options).make().network(problem, settings, 0).double()
    wanted = model.eval()(problem.graph)[0]
    assert torch.equal(wanted, model(problem.graph, torch.Generator().manual_seed(1))[0])
    draw = torch.Generator().manual_seed(0)
    draws = torch.stack([model.train()(problem.graph, draw)[0].detach() for _ in range(400)])
    assert (draws.std(0) > 0).all()
    if name == "gat":
        error = (draws.mean(0) - wanted).abs() / (draws.std(0) / 20)
        assert error.max() < 5
