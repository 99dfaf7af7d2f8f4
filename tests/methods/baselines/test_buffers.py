from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from diffmg.methods.baselines._buffers import PairsBuffer, SparseBuffer
from diffmg.tasks.pairs import Pairs

MATRIX = sp.csr_matrix(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
PAIRS = np.array([[0, 1], [0, 2], [2, 0]])


def held_pairs() -> PairsBuffer:
    return PairsBuffer(Pairs.build(PAIRS, 3, 3)[0])


def test_products_are_those_of_the_matrix_and_of_its_transpose():
    held = SparseBuffer(MATRIX).double()
    dense = torch.from_numpy(MATRIX.toarray())
    x, y = torch.arange(6.0).double().view(3, 2).requires_grad_(), torch.arange(4.0).double().view(2, 2)
    product = held.fixed @ x
    torch.testing.assert_close(product, dense @ x)
    torch.testing.assert_close(held.fixed.T @ y, dense.T @ y)
    torch.testing.assert_close(torch.autograd.grad((product * y).sum(), x)[0], dense.T @ y)


def test_pairs_come_back_as_they_were():
    held = held_pairs()
    assert list(zip(held.pairs.left.tolist(), held.pairs.right.tolist(), strict=True)) == [tuple(p) for p in PAIRS]
    left, right = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)).unbind()
    torch.testing.assert_close(held.double().pairs.scores(left, right), (left @ right.T)[tuple(PAIRS.T)])


def test_both_move_and_are_copied_and_are_no_state():
    model = nn.ModuleList([SparseBuffer(MATRIX), held_pairs()])
    assert not model.state_dict()
    assert not list(model.parameters())
    twin = copy.deepcopy(model)
    for ours, theirs in zip(model.buffers(), twin.buffers(), strict=True):
        assert torch.equal(ours, theirs)
        assert ours.data_ptr() != theirs.data_ptr()
    elsewhere = model.to("meta")
    assert elsewhere[0].get_buffer("forward_values").is_meta
    assert elsewhere[1].pairs.left.is_meta
