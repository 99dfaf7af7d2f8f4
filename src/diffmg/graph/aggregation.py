"""How a relation carries messages: the matrix of its neighbours and the share of a node's own state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import Relation
from diffmg.core.settings import Aggregate
from diffmg.graph.sparse import FixedMatrix


@dataclass(frozen=True)
class Propagation:
    """What a relation does to a state: `matrix @ h_source + keep * h_target`."""

    matrix: FixedMatrix
    keep: Tensor | None
    """Weight of the node's own state, one row per target node; None where the matrix already holds it."""
    held: Tensor | None = None
    """Where the matrix holds it: the part of its diagonal that is the node's own share, one row per node."""

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Propagation:
        """The same propagation on another device or in another precision."""
        keep, held = (None if x is None else x.to(device, dtype) for x in (self.keep, self.held))
        return Propagation(self.matrix.to(device, dtype), keep, held)


def propagation_of(
    relation: Relation, matrix: sp.csr_matrix, aggregate: Aggregate = "paper", *, self_loops: bool = True
) -> Propagation:
    """A relation's propagation.

    `paper`: the mean over neighbours between two types (and where a relation within one type is directed), symmetric
    normalisation within one. Without self loops a node takes no part in what it receives, and one without neighbours
    receives zero.
    """
    within = relation.source == relation.target
    if aggregate == "paper":
        aggregate = "symmetric" if within and equal(matrix, matrix.T.tocsr()) else "mean"
    neighbours, share = normalised(matrix, aggregate, self_loops=self_loops)
    own = torch.from_numpy(share).float().unsqueeze(1)
    if within:  # one matrix holds both
        return Propagation(FixedMatrix.from_scipy(sp.csr_matrix(neighbours + sp.diags(share))), None, own)
    return Propagation(FixedMatrix.from_scipy(neighbours), own)


def normalised(
    matrix: sp.csr_matrix, aggregate: Aggregate, *, self_loops: bool
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """The matrix of the neighbours and the share of each node's own state.

    With d the sum of a node's weights, plus one with self loops: an entry of `mean` is divided by the receiver's d, one
    of `symmetric` by the roots of both ends' d.
    """
    loops = float(self_loops)
    if aggregate == "sum":
        return matrix, np.full(matrix.shape[0], loops)
    into, out_of = (np.asarray(matrix.sum(axis=axis), np.float64).ravel() + loops for axis in (1, 0))
    if aggregate == "mean":
        return sp.csr_matrix(sp.diags(_power(into, -1.0)) @ matrix), _power(into, -1.0) * loops
    roots = (sp.diags(_power(degrees, -0.5)) for degrees in (into, out_of))
    return sp.csr_matrix(next(roots) @ matrix @ next(roots)), _power(into, -1.0) * loops


def _power(degrees: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Zero where a node has no neighbour."""
    return np.power(degrees, exponent, out=np.zeros_like(degrees), where=degrees > 0)


def has_weights(matrix: sp.csr_matrix) -> bool:
    """Whether any edge has a weight other than 1."""
    return bool((matrix.data != 1).any())


def equal(a: sp.csr_matrix, b: sp.csr_matrix) -> bool:
    """Whether two matrices hold the same edges and weights, ignoring edges of weight zero and rounding errors."""
    a, b = a.copy(), b.copy()
    for matrix in (a, b):
        matrix.eliminate_zeros()
    if a.shape != b.shape or a.nnz != b.nnz:
        return False
    same_edges = np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
    return bool(same_edges and np.allclose(a.data, b.data, rtol=1e-9, atol=0))
