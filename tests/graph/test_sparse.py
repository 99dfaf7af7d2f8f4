from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.graph.sparse import FixedMatrix, product, symmetric_normalised, to_torch


def random_matrix(rows: int, columns: int, seed: int) -> sp.csr_matrix:
    return sp.random(rows, columns, 0.4, format="csr", random_state=seed)


matrices = st.builds(random_matrix, st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))


def dense(matrix: FixedMatrix) -> np.ndarray:
    return matrix.forward.to_dense().numpy()


def random_input(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)


@given(matrices)
def test_product_equals_the_dense_one(matrix):
    x = random_input(matrix.shape[1])
    product = FixedMatrix.from_scipy(matrix, torch.float64) @ x
    np.testing.assert_allclose(product.detach().numpy(), matrix.toarray() @ x.detach().numpy())


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0)])
def test_product_with_a_matrix_without_entries_is_zero(shape):
    found = product(to_torch(sp.csr_matrix(shape)), torch.ones(shape[1], 2))
    assert torch.equal(found, torch.zeros(shape[0], 2))


def test_product_reads_a_transposed_input():
    matrix, x = random_matrix(5, 4, 0), torch.arange(12.0).view(3, 4)
    np.testing.assert_allclose(product(to_torch(matrix), x.T).numpy(), matrix.toarray() @ x.numpy().T, rtol=1e-6)


@given(matrices)
def test_gradient_is_right(matrix):
    fixed = FixedMatrix.from_scipy(matrix, torch.float64)
    assert torch.autograd.gradcheck(lambda x: fixed @ x, random_input(matrix.shape[1]))


@given(matrices)
def test_transpose_multiplies_by_the_transpose(matrix):
    fixed = FixedMatrix.from_scipy(matrix, torch.float64)
    np.testing.assert_array_equal(dense(fixed.T), matrix.toarray().T)
    assert torch.autograd.gradcheck(lambda x: fixed.T @ x, random_input(matrix.shape[0]))


@given(matrices)
def test_transposed_twice_is_the_same(matrix):
    fixed = FixedMatrix.from_scipy(matrix)
    twice = fixed.T.T
    assert twice.forward is fixed.forward
    assert twice.backward is fixed.backward
    assert twice.shape == fixed.shape == matrix.shape


def test_matrix_with_nothing_in_it():
    fixed = FixedMatrix.from_scipy(sp.csr_matrix((2, 3)), torch.float64)
    x = random_input(3)
    assert torch.equal(fixed @ x, torch.zeros(2, 3, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda x: fixed @ x, x)


def test_gradient_of_a_gradient():
    """Linear in x: the second gradient flows through the transpose."""
    fixed = FixedMatrix.from_scipy(random_matrix(3, 4, 1), torch.float64)
    assert torch.autograd.gradgradcheck(lambda x: (fixed @ x) ** 2, random_input(4))


def test_precision_can_be_changed():
    double = FixedMatrix.from_scipy(random_matrix(3, 4, 1)).to(dtype=torch.float64)
    assert (double.forward.dtype, double.backward.dtype) == (torch.float64, torch.float64)


def test_indices_are_small():
    tensor = to_torch(random_matrix(3, 4, 1))
    assert (tensor.crow_indices().dtype, tensor.col_indices().dtype) == (torch.int32, torch.int32)


def test_unsorted_and_repeated_entries_add_up():
    """As scipy reads them: row 0 holds 1 at column 2, and 2 + 4 at column 0."""
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    fixed = FixedMatrix.from_scipy(matrix, torch.float64)
    x = random_input(3)
    torch.testing.assert_close(fixed @ x, torch.from_numpy(np.array([[6.0, 0, 1], [0, 0, 0]])) @ x)
    assert torch.autograd.gradcheck(lambda x: fixed @ x, x)


@pytest.mark.parametrize("seed", range(3))
def test_symmetric_normalisation_by_its_formula(seed):
    half = random_matrix(5, 5, seed)
    matrix = (half + half.T).tocsr()
    looped = matrix.toarray() + np.eye(5)
    root = np.diag(looped.sum(axis=1) ** -0.5)
    np.testing.assert_allclose(symmetric_normalised(matrix).toarray(), root @ looped @ root)


def test_a_lone_node_keeps_itself():
    np.testing.assert_array_equal(symmetric_normalised(sp.csr_matrix((2, 2))).toarray(), np.eye(2))
