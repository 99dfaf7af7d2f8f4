"""Hashes of data, so that a run records what it ran on."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffmg.graph.network import Features, HeteroGraph
from diffmg.graph.sparse import FixedMatrix


def fingerprint(*parts: object) -> str:
    """Sixteen hex digits over texts, arrays and tensors, in order."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Tensor):
            part = part.numpy(force=True)
        if isinstance(part, np.ndarray):
            data = part if part.dtype.kind in "biufc" else np.asarray(part, dtype=str)
            digest.update(f"{data.dtype}{data.shape}".encode())
            digest.update(np.ascontiguousarray(data).tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()[:16]


def canonical_order(graph: HeteroGraph) -> dict[str, NDArray[np.int64]]:
    """Per type the order that sorts its nodes by id; types already in that order are left out."""
    orders = {}
    for node_type, ids in graph.ids.items():
        if not (ids[:-1] <= ids[1:]).all():
            orders[node_type] = np.argsort(ids, kind="stable")
    return orders


def graph_digests(graph: HeteroGraph) -> dict[str, str]:
    """Counts and hashes of each part of a network, the same for any order of its nodes."""
    orders = canonical_order(graph)
    canonical = graph.permuted(orders)
    kinds = f"{len(graph.schema.node_types)} node types, {len(graph.schema.relations)} relations"
    found = {"schema": f"{kinds} #{fingerprint(canonical.schema)}"}
    if graph.timed:
        found["timed types"] = ", ".join(sorted(graph.timed))
    for node_type, count in graph.num_nodes.items():
        found[f"nodes of {node_type}"] = f"{count} nodes #{fingerprint(_as_int64(canonical.ids_of(node_type)))}"
        found[f"features of {node_type}"] = _features(canonical.features.get(node_type))
    for relation, matrix in canonical.adjacency.items():
        where = np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices, np.int64)
        found[f"edges of {relation}"] = f"{matrix.nnz} edges #{fingerprint(*where, matrix.data)}"
    return found


def graph_fingerprint(graph: HeteroGraph) -> str:
    """A hash of a network's schema, edges, weights, features and ids."""
    return fingerprint(*graph_digests(graph).items())


def _as_int64(ids: NDArray[Any]) -> NDArray[Any]:
    """Integer ids as int64, however they were stored; others unchanged."""
    return ids.astype(np.int64) if ids.dtype.kind in "iu" else ids


def _features(features: Features | None) -> str:
    if features is None:
        return "none"
    if not isinstance(features, FixedMatrix):
        return f"{features.shape[1]} columns #{fingerprint(features)}"
    csr = features.forward
    parts = (features.shape, csr.crow_indices().long(), csr.col_indices().long(), csr.values())
    return f"{features.shape[1]} columns #{fingerprint(*parts)}"
