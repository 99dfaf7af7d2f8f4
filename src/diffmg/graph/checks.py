"""Validation of a network's parts; each check returns the part in canonical form or raises."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Relation, Schema
from diffmg.core.limits import ID_BYTES, ID_LENGTH
from diffmg.graph.sparse import FixedMatrix


def checked_counts(num_nodes: Mapping[str, int]) -> dict[str, int]:
    """The number of nodes per type, each a whole number >= 0."""
    for node_type, count in num_nodes.items():
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise DiffmgError(f"the number of {node_type!r} nodes must be a whole number >= 0, but got {count!r}")
    return {node_type: int(count) for node_type, count in num_nodes.items()}


def checked_relation(relation: object) -> Relation:
    """A relation, also from a (source, name, target) triple."""
    if isinstance(relation, Relation):
        return relation
    if not isinstance(relation, tuple) or len(relation) != 3:
        raise DiffmgError(f"a relation is (source, name, target), but got {relation!r}")
    return Relation(*relation)


def _array(given: ArrayLike, what: str, dtype: type | None = None) -> NDArray[Any]:
    try:
        return np.asarray(given, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise DiffmgError(f"{what} must be an array of numbers, but got one that is not: {error}") from error


def checked_edges(
    relation: Relation, edges: ArrayLike, num_nodes: Mapping[str, int], *, may_be_empty: bool = False
) -> NDArray[np.int64]:
    """Two rows of node numbers, each within its type."""
    array = _array(edges, f"edges of '{relation}'")
    if array.ndim != 2 or array.shape[0] != 2:
        raise DiffmgError(f"edges of '{relation}' must be two rows (sources, targets), but got shape {array.shape}")
    if array.shape[1] == 0 and not may_be_empty:
        raise DiffmgError(f"relation '{relation}' must have at least one edge, but got 0; leave it out of the network")
    if not np.issubdtype(array.dtype, np.integer):
        raise DiffmgError(
            f"edges of '{relation}' must be whole numbers, but got {array.dtype}; map ids to numbers first"
        )
    for row, node_type in zip(array, (relation.source, relation.target), strict=True):
        limit = num_nodes[node_type]
        bad = np.flatnonzero((row < 0) | (row >= limit))
        if len(bad):
            raise DiffmgError(
                f"edges of '{relation}': `0 <= {node_type} < {limit}` must hold, but got {row[bad[0]]} "
                f"at edge {bad[0]} ({len(bad)} such edges); check the number of {node_type!r} nodes or count from 0"
            )
    return array.astype(np.int64, copy=False)


def checked_weights(relation: Relation, weights: ArrayLike | None, edges: ArrayLike) -> NDArray[np.float64] | None:
    """One finite, non-negative weight per edge, or None."""
    if weights is None:
        return None
    array = _array(weights, f"edge weights of '{relation}'", np.float64)
    count = np.asarray(edges).shape[1]
    if array.shape != (count,):
        raise DiffmgError(f"relation '{relation}' needs {count} edge weights, but got shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise DiffmgError(
            f"edge weights of '{relation}' must be finite and not negative, but got {array[bad[0]]} at edge {bad[0]} "
            f"({len(bad)} such edges)"
        )
    return array


def checked_features(
    features: Mapping[str, ArrayLike | sp.spmatrix], schema: Schema, num_nodes: Mapping[str, int]
) -> dict[str, Tensor | FixedMatrix]:
    """One finite row per node; scipy sparse matrices stay sparse."""
    checked: dict[str, Tensor | FixedMatrix] = {}
    for node_type, given in features.items():
        schema.check_type(node_type)
        if sp.issparse(given):
            matrix = sp.csr_matrix(given, dtype=np.float32)
            values, shape = matrix.data, matrix.shape
            checked[node_type] = FixedMatrix.from_scipy(matrix)
        else:
            values = _array(given, f"features of {node_type!r}", np.float32)
            shape = values.shape
            values = np.ascontiguousarray(values) if values.flags.writeable else values.copy()
            checked[node_type] = torch.from_numpy(values)
        if len(shape) != 2 or shape[0] != num_nodes[node_type] or shape[1] == 0:
            raise DiffmgError(
                f"features of {node_type!r} must be {num_nodes[node_type]} rows of one or more columns, "
                f"but got shape {tuple(shape)}"
            )
        bad = int(np.size(values) - np.count_nonzero(np.isfinite(values)))
        if bad:
            raise DiffmgError(
                f"features of {node_type!r} must be finite, but got {bad} NaN or infinite values; fill them first"
            )
    return checked


def check_lengths(node_type: str, rows: int, longest: int) -> None:
    """Raise if ids are too long for arrays, in which every id takes the room of the longest."""
    if longest > ID_LENGTH or 4 * longest * rows > ID_BYTES:
        raise DiffmgError(
            f"ids of {node_type!r} must have at most {ID_LENGTH} characters, and the longest times all nodes at most "
            f"{ID_BYTES // 4}, but got one of {longest} characters among {rows}; use shorter ids, such as numbers"
        )


def checked_ids(ids: Mapping[str, ArrayLike], schema: Schema, num_nodes: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """One id per node, without duplicates."""
    checked: dict[str, NDArray[Any]] = {}
    for node_type, given in ids.items():
        if isinstance(given, list | tuple):
            check_lengths(node_type, len(given), max((len(i) for i in given if isinstance(i, str)), default=0))
        array = np.asarray(given)
        if array.shape != (num_nodes[schema.check_type(node_type)],):
            raise DiffmgError(
                f"type {node_type!r} needs {num_nodes[node_type]} ids, one per node, but got shape {array.shape}"
            )
        try:
            values, counts = np.unique(array, return_counts=True)
        except TypeError as error:
            raise DiffmgError(f"ids of {node_type!r} must be all text or all numbers, but got both: {error}") from error
        if (counts > 1).any():
            raise DiffmgError(
                f"ids of {node_type!r} must be unique, but got {values[counts > 1][:3].tolist()} more than once"
            )
        checked[node_type] = array
    return checked
