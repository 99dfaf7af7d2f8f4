from __future__ import annotations

import numpy as np
import torch

from diffmg.baselines._path_attention import (
    Edges,
    OnlyPath,
    SemanticAttention,
    semantic_attention,
    softmax_by_row,
)

ROWS, COLUMNS, SHAPE = np.array([0, 0, 0, 2, 2, 3]), np.array([0, 1, 4, 0, 2, 3]), (4, 5)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def test_softmax_by_row_is_softmax_of_each_row():
    scores = draw(6, 2).mul(30).requires_grad_()
    found = softmax_by_row(scores, torch.from_numpy(ROWS), 4)
    wanted = torch.cat([scores[:3].softmax(0), scores[3:5].softmax(0), scores[5:].softmax(0)])
    torch.testing.assert_close(found, wanted)
    weight = draw(6, 2)
    grads = [torch.autograd.grad((z * weight).sum(), scores, retain_graph=True)[0] for z in (found, wanted)]
    torch.testing.assert_close(*grads)


def test_large_scores_do_not_overflow():
    scores = torch.tensor([[1e4], [1e4], [-1e4]])
    assert softmax_by_row(scores, torch.tensor([0, 0, 1]), 2).flatten().tolist() == [0.5, 0.5, 1.0]


def test_sums_are_dense_products_of_each_head():
    edges = Edges(ROWS, COLUMNS, SHAPE)
    weights, x = draw(6, 2).requires_grad_(), draw(5, 2, 3).requires_grad_()
    dense = torch.zeros(2, *SHAPE, dtype=torch.float64)
    dense = dense.index_put((torch.arange(2).view(1, 2), edges.rows[:, None], edges.columns[:, None]), weights)
    wanted = (dense @ x.transpose(0, 1)).transpose(0, 1)
    found = edges.sums(weights, x)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(found[1], torch.zeros(2, 3, dtype=torch.float64))
    scale = draw(4, 2, 3)
    for leaf in (weights, x):
        grads = [torch.autograd.grad((z * scale).sum(), leaf, retain_graph=True)[0] for z in (found, wanted)]
        torch.testing.assert_close(*grads)


def test_the_structure_is_no_state():
    assert not Edges(ROWS, COLUMNS, SHAPE).state_dict()


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
    only = semantic_attention(1, 3, 7, torch.Generator())
    assert isinstance(only, OnlyPath)
    assert not list(only.parameters())
    state = draw(4, 3)
    assert only([state]) is state
