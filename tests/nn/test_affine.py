from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diffmg.nn import Affine
from diffmg.sparse import FixedMatrix


def affine(inputs: int = 4, outputs: int = 3, seed: int = 0) -> Affine:
    return Affine(inputs, outputs, torch.Generator().manual_seed(seed))


def test_dense_input_is_multiplied_and_shifted():
    x, layer = torch.randn(5, 4, generator=torch.Generator().manual_seed(1)), affine()
    torch.testing.assert_close(layer(x), x @ layer.weight + layer.bias)


def test_sparse_input_is_the_same_as_dense():
    x, layer = sp.random(5, 4, 0.5, format="csr", random_state=0, dtype=np.float32), affine()
    torch.testing.assert_close(layer(FixedMatrix.from_scipy(x)), layer(torch.from_numpy(x.toarray())))


def test_no_input_is_one_hot():
    layer = affine()
    torch.testing.assert_close(layer(None), layer(torch.eye(4)))


@pytest.mark.parametrize("kind", ["sparse", "one-hot"])
def test_gradients_are_those_of_dense_input(kind):
    x = sp.random(4, 4, 0.5, format="csr", random_state=0) if kind == "sparse" else sp.eye(4, format="csr")
    layer = affine().double()
    given = FixedMatrix.from_scipy(x, torch.float64) if kind == "sparse" else None
    cotangent = torch.arange(12.0, dtype=torch.float64).reshape(4, 3)
    got = torch.autograd.grad((layer(given) * cotangent).sum(), list(layer.parameters()))
    wanted = torch.autograd.grad((layer(torch.from_numpy(x.toarray())) * cotangent).sum(), list(layer.parameters()))
    torch.testing.assert_close(got, wanted)


def test_entries_start_uniform_within_one_over_the_root_of_the_inputs():
    weight = affine(100, 200).weight
    assert weight.abs().max() <= 0.1
    assert weight.mean().item() == pytest.approx(0, abs=0.003)
    assert weight.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.05)


def test_start_depends_on_the_generator_alone():
    assert torch.equal(affine(seed=3).weight, affine(seed=3).weight)
    assert not torch.equal(affine(seed=3).weight, affine(seed=4).weight)
