"""Graph data as non-persistent buffers: moved and copied with the model, but not part of its state dict."""

from dataclasses import fields

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.pairs import Pairs


class SparseBuffer(nn.Module):
    """A constant sparse matrix and its transpose."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        super().__init__()
        self.shape = matrix.shape
        fixed = FixedMatrix.from_scipy(matrix)
        for way, m in (("forward", fixed.forward), ("backward", fixed.backward)):
            for name, part in (("rows", m.crow_indices()), ("columns", m.col_indices()), ("values", m.values())):
                self.register_buffer(f"{way}_{name}", part, persistent=False)

    @property
    def fixed(self) -> FixedMatrix:
        """The matrix, on the model's device."""
        return FixedMatrix(self._csr("forward", self.shape), self._csr("backward", self.shape[::-1]))

    def _csr(self, way: str, shape: tuple[int, int]) -> Tensor:
        rows, columns, values = (self.get_buffer(f"{way}_{name}") for name in ("rows", "columns", "values"))
        return torch.sparse_csr_tensor(rows, columns, values, shape, check_invariants=False)


class PairsBuffer(nn.Module):
    """Pairs of rows as buffers."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        for f in fields(pairs):
            self.register_buffer(f.name, getattr(pairs, f.name), persistent=False)

    @property
    def pairs(self) -> Pairs:
        """The pairs, on the model's device."""
        return Pairs(*(self.get_buffer(f.name) for f in fields(Pairs)))
