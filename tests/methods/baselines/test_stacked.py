from __future__ import annotations

import torch

from diffmg.methods.baselines._stacked import glorot, vectors


def draw() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_glorot_is_uniform_within_its_bound():
    weights = glorot(3, 200, 100, generator=draw())
    bound = (6 / 300) ** 0.5
    assert weights.shape == (3, 200, 100)
    assert 0.99 * bound < weights.abs().max() <= bound
    assert abs(weights.var() / (bound**2 / 3) - 1) < 0.05
    assert torch.equal(weights, glorot(3, 200, 100, generator=draw()))


def test_vectors_are_uniform_within_one_over_the_root_of_their_length():
    entries = vectors((500, 16), draw())
    assert entries.requires_grad
    assert 0.99 / 4 < entries.abs().max() <= 1 / 4
    assert torch.equal(entries, vectors((500, 16), draw()))
