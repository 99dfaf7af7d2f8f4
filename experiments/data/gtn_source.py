"""Turns the published files of Graph Transformer Networks (pickles in a zip) into plain arrays, values unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from experiments.data.archives import read_members
from experiments.data.pickles import load_pickle

MEMBERS = ("edges.pkl", "labels.pkl", "node_features.pkl")
Arrays = dict[str, NDArray[Any]]


def read_source(path: Path, relations: Sequence[Relation]) -> Arrays:
    """The arrays of `graph.npz`; `relations` are in the order of the source."""
    members = read_members(path, MEMBERS)
    edges, labels, features = (load_pickle(members[name], f"{name!r} of {path}") for name in MEMBERS)
    matrices = _matrices(edges, relations, path)
    num_nodes = matrices[0].shape[0]
    names, node_type = _node_types(matrices, relations)
    arrays: Arrays = {
        "num_nodes": np.array(num_nodes, np.int64),
        "node_type": node_type,
        "node_type_names": np.array(names),
        "edge_type_names": np.array([relation.name for relation in relations]),
    }
    for relation, matrix in zip(relations, matrices, strict=True):
        rows, columns = matrix.nonzero()
        arrays[f"edge_{relation.name}_row"] = rows.astype(np.int32)
        arrays[f"edge_{relation.name}_col"] = columns.astype(np.int32)
    return arrays | _labels(labels, num_nodes, path) | _features(features, num_nodes, path)


def papers_first(arrays: Arrays) -> NDArray[np.int8]:
    """Node types as DiffMG's program supposes them: in order of type. On DBLP they are not those of the edges."""
    counts = np.bincount(arrays["node_type"], minlength=len(arrays["node_type_names"]))
    return np.repeat(np.arange(len(counts), dtype=np.int8), counts)


def _matrices(edges: Any, relations: Sequence[Relation], path: Path) -> list[sp.csr_matrix]:
    given = list(edges.values()) if isinstance(edges, dict) else edges
    good = isinstance(given, list) and len(given) == len(relations) and all(map(sp.issparse, given))
    shapes = {matrix.shape for matrix in given} if good else set()
    if len(shapes) != 1 or len(set(*shapes)) != 1:
        raise DiffmgError(
            f"'edges.pkl' of {path} must hold {len(relations)} square matrices of one size, "
            f"but got {sorted(shapes) or type(given).__name__}"
        )
    found = [sp.csr_matrix(matrix) for matrix in given]
    for matrix in found:
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return found


def _node_types(matrices: list[sp.csr_matrix], relations: Sequence[Relation]) -> tuple[list[str], NDArray[np.int8]]:
    """Rows of a relation's matrix are of its target type, columns of its source type."""
    names = list(dict.fromkeys(end for r in relations for end in (r.target, r.source)))
    found = np.full(matrices[0].shape[0], -1, np.int8)
    for relation, matrix in zip(relations, matrices, strict=True):
        for end, nodes in zip((relation.target, relation.source), matrix.nonzero(), strict=True):
            kind = names.index(end)
            if ((found[nodes] != -1) & (found[nodes] != kind)).any():
                raise DiffmgError(f"every node must be of one type, but got another for some {end!r} of '{relation}'")
            found[nodes] = kind
    if (found == -1).any():
        raise DiffmgError(
            f"every node must have an edge, or its type is unknown, but got {(found == -1).sum()} without"
        )
    return names, found


def _labels(labels: Any, num_nodes: int, path: Path) -> Arrays:
    if not isinstance(labels, list) or len(labels) != 3:
        raise DiffmgError(f"'labels.pkl' of {path} must hold three parts, but got {type(labels).__name__}")
    parts: Arrays = {}
    for part, rows in zip(("train", "val", "test"), labels, strict=True):
        values = np.asarray(rows)
        if values.ndim != 2 or values.shape[1] != 2 or not np.array_equal(values, values.astype(np.int32)):
            raise DiffmgError(f"{part} of {path} must be rows (node, class) of whole numbers, but got {values.shape}")
        if (values < 0).any() or (values[:, 0] >= num_nodes).any():
            raise DiffmgError(f"{part} of {path} must have `0 <= node < {num_nodes}`, but got {values.max(axis=0)}")
        parts[part] = values.astype(np.int32)
    return parts


def _features(features: Any, num_nodes: int, path: Path) -> Arrays:
    if not (sp.issparse(features) or isinstance(features, np.ndarray)) or features.shape[:1] != (num_nodes,):
        shape = getattr(features, "shape", type(features).__name__)
        raise DiffmgError(
            f"'node_features.pkl' of {path} must have a row for each of {num_nodes} nodes, but got {shape}"
        )
    words = sp.csr_matrix(features)
    words.sum_duplicates()
    words.eliminate_zeros()
    if not (words.data == 1).all():
        raise DiffmgError(f"features of {path} must be 0 and 1, but got {np.unique(words.data)[:5].tolist()}")
    return {
        "feat_indptr": words.indptr.astype(np.int64),
        "feat_indices": words.indices.astype(np.int32),
        "feat_shape": np.array(words.shape, np.int64),
    }
