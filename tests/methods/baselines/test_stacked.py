from __future__ import annotations

import torch

from diffmg.core.settings import Settings
from diffmg.methods.baselines._base import glorot, vectors
from diffmg.methods.baselines.mlp import MLP
from small_networks import small_classification


def draw() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_glorot_is_uniform_within_its_bound():
    weights = glorot(3, 200, 100, generator=draw())
    bound = (6 / 300) ** 0.5
    assert weights.shape == (3, 200, 100)
    assert 0.99 * bound < weights.abs().max() <= bound
    assert abs(weights.var() / (bound**2 / 3) - 1) < 0.05
    assert torch.equal(weights, glorot(3, 200, 100, generator=draw()))


def test_dropping_nothing_draws_nothing():
    model, h, generator = MLP().network(small_classification(), Settings(dim=4), 0), torch.ones(2, 50), draw()
    before = generator.get_state()
    assert model.train().drop(h, generator, 0.0) is h
    assert model.eval().drop(h, generator, 0.5) is h
    assert torch.equal(generator.get_state(), before)
    assert set(model.train().drop(h, generator, 0.5).unique().tolist()) == {0.0, 2.0}


def test_vectors_are_uniform_within_one_over_the_root_of_their_length():
    entries = vectors((500, 16), draw())
    assert entries.requires_grad
    assert 0.99 / 4 < entries.abs().max() <= 1 / 4
    assert torch.equal(entries, vectors((500, 16), draw()))
