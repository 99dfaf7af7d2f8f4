"""Fixed sparse matrices: products with dense tensors whose gradient is another sparse product."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


@dataclass(frozen=True)
class FixedMatrix:
    """A constant CSR matrix with its transpose, built once; `matrix @ x` differentiates with respect to x alone."""

    forward: Tensor
    backward: Tensor

    @classmethod
    def from_scipy(cls, matrix: sp.csr_matrix, dtype: torch.dtype = torch.float32) -> FixedMatrix:
        """Build both directions from a scipy CSR matrix."""
        return cls(to_torch(matrix, dtype), to_torch(matrix.T.tocsr(), dtype))

    def to_scipy(self) -> sp.csr_matrix:
        """The matrix on the host."""
        csr = self.forward.cpu()
        parts = (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
        return sp.csr_matrix(parts, shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.forward.shape
        return rows, columns

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> FixedMatrix:
        """The same matrix on another device or in another precision."""
        return FixedMatrix(self.forward.to(device, dtype), self.backward.to(device, dtype))

    def __matmul__(self, x: Tensor) -> Tensor:
        product: Tensor = _Product.apply(x, self)  # type: ignore[no-untyped-call]
        return product

    @property
    def T(self) -> FixedMatrix:  # noqa: N802  (the name numpy and torch use)
        """The transpose, without a copy."""
        return FixedMatrix(self.backward, self.forward)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: FixedMatrix) -> Tensor:
        ctx.matrix = matrix
        return product(matrix.forward, x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.T @ grad_outputs[0], None


def product(matrix: Tensor, x: Tensor) -> Tensor:
    """`matrix @ x` for a CSR matrix and dense x, (m, n) and (n, d).

    On a CPU the sums of a weighted bag of embeddings are the same sums, and torch's kernel for them is several times
    faster than its sparse product.
    """
    if not x.is_cpu:
        return matrix @ x
    rows, pointer, values = matrix.col_indices(), matrix.crow_indices(), matrix.values()
    return torch.embedding_bag(x.contiguous(), rows, pointer, False, 0, False, values, True)[0]


def to_torch(matrix: sp.csr_matrix, dtype: torch.dtype = torch.float32) -> Tensor:
    """A scipy CSR matrix as a torch CSR tensor with 32-bit indices where they suffice.

    32-bit indices matter: the CPU library converts 64-bit ones again in every product.
    """
    small = max(*matrix.shape, matrix.nnz) < 2**31
    index = np.int32 if small else np.int64
    return torch.sparse_csr_tensor(
        torch.from_numpy(matrix.indptr.astype(index, copy=False)),
        torch.from_numpy(matrix.indices.astype(index, copy=False)),
        torch.from_numpy(np.asarray(matrix.data)).to(dtype),
        size=matrix.shape,
        check_invariants=False,
    )


def symmetric_normalised(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """`D^-1/2 (A + I) D^-1/2`."""
    with_loops = matrix + sp.identity(matrix.shape[0], dtype=matrix.dtype, format="csr")
    scale = sp.diags(np.asarray(with_loops.sum(axis=1)).ravel() ** -0.5)
    return sp.csr_matrix(scale @ with_loops @ scale)


with warnings.catch_warnings():  # trigger and hide torch's one-time warning that CSR tensors are in beta
    warnings.simplefilter("ignore")
    to_torch(sp.csr_matrix((1, 1), dtype=np.float32))
