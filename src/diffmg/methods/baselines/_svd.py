"""Truncated singular value decomposition of matrices that are only multiplied with, never formed."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

Floats: TypeAlias = NDArray[np.float64]
OVERSAMPLING = 10
ROUNDS = 3
"""Power iterations; they sharpen the split between the kept singular vectors and the rest."""
PROBES = 32


def truncated_svd(matrix: Any, rank: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """U, the singular values, and V of (approximately) the best approximation of a rank, by random projection.

    Halko, Martinsson and Tropp, 2011. The rank is at most the smaller side of the matrix. V is (columns, rank).
    """
    a, rank = aslinearoperator(matrix), min(rank, *matrix.shape)
    q = rng.standard_normal((a.shape[1], min(rank + OVERSAMPLING, *a.shape)))
    for _ in range(ROUNDS):
        q = _orthonormal(a.H @ _orthonormal(a @ q))
    q = _orthonormal(a @ q)
    u, s, vt = np.linalg.svd(np.asarray(a.H @ q).T, full_matrices=False)
    return q @ u[:, :rank], s[:rank], vt[:rank].T


def side_by_side(blocks: Sequence[LinearOperator]) -> LinearOperator:
    """Matrices with equally many rows as one, (rows, all columns)."""
    ends = np.cumsum([block.shape[1] for block in blocks])

    def times(x: Floats) -> Floats:
        return np.asarray(sum(block @ part for block, part in zip(blocks, np.split(x, ends[:-1]), strict=True)))

    def transposed_times(x: Floats) -> Floats:
        return np.concatenate([block.H @ x for block in blocks])

    shape = (blocks[0].shape[0], int(ends[-1]))
    return LinearOperator(shape, times, transposed_times, times, np.float64, transposed_times)


def root_mean_square(matrix: LinearOperator, rng: np.random.Generator) -> float:
    """The root of the mean squared length of a row, estimated with random vectors (exact in the mean)."""
    if not matrix.shape[0]:
        return 0.0
    probes = rng.standard_normal((matrix.shape[1], PROBES))
    return float(np.sqrt(np.square(matrix @ probes).sum() / PROBES / matrix.shape[0]))


def _orthonormal(x: Floats) -> Floats:
    return np.asarray(np.linalg.qr(x)[0])
