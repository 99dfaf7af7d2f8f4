from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diffmg.graph.sparse import FixedMatrix
from diffmg.nn import Affine
from diffmg.nn import affine as module
from diffmg.nn.affine import chunked_gradient


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


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def test_several_maps_at_once_are_those_one_by_one():
    x, weight, bias = (t.requires_grad_() for t in (normal(3, 7, 4), normal(3, 4, 2), normal(3, 2)))
    together = module.affine(x, weight, bias)
    apart = torch.stack([module.affine(x[n], weight[n], bias[n]) for n in range(3)])
    torch.testing.assert_close(together, apart)
    torch.testing.assert_close(apart[1], x[1] @ weight[1] + bias[1])
    end = normal(3, 7, 2)
    got, wanted = (torch.autograd.grad((out * end).sum(), (x, weight, bias)) for out in (together, apart))
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("maps", [(), (2,), (3, 2)], ids=["one", "several", "rows of several"])
def test_a_tall_product_is_the_plain_one(monkeypatch, maps):
    """With fewer rows than a chunk, exactly as many, and a remainder."""
    monkeypatch.setattr(module, "ROWS", 4)
    for rows in (0, 1, 3, 4, 5, 8, 11, 12):
        x, g = normal(*maps, rows, 3), normal(*maps, rows, 2)
        torch.testing.assert_close(chunked_gradient(x, g), torch.einsum("...ni,...nj->...ij", x, g))


def test_a_tall_product_of_what_is_not_contiguous(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 4)
    x, g = normal(2, 3, 9).mT, normal(9, 2, 5).transpose(0, 1)
    assert not (x.is_contiguous() or g.is_contiguous())
    torch.testing.assert_close(chunked_gradient(x, g), torch.einsum("...ni,...nj->...ij", x, g))


@pytest.mark.parametrize("maps", [(), (2,)], ids=["one", "several"])
@pytest.mark.parametrize("rows", [3, 9])
def test_the_gradient_that_a_gpu_uses_is_right(monkeypatch, rows, maps):
    monkeypatch.setattr(module, "ROWS", 4)
    given = tuple(t.requires_grad_() for t in (normal(*maps, rows, 3), normal(*maps, 3, 2), normal(*maps, 2)))
    assert torch.equal(module._Affine.apply(*given), module.affine(*given))
    assert torch.autograd.gradcheck(module._Affine.apply, given)


@pytest.mark.parametrize("wanting", range(3))
def test_only_what_wants_a_gradient_has_one(wanting):
    given = [normal(5, 3), normal(3, 2), normal(2)]
    given[wanting].requires_grad_()
    module._Affine.apply(*given).sum().backward()
    assert [t.grad is not None for t in given] == [n == wanting for n in range(3)]
