"""Hashes of data, so that a run can say what it ran on."""

from __future__ import annotations

import hashlib

import numpy as np
from torch import Tensor

from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix


def fingerprint(*parts: object) -> str:
    """Sixteen hex digits over texts, arrays and tensors, in order."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Tensor):
            part = part.numpy(force=True)
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}".encode())
            data = part if part.dtype.kind in "biufc" else np.asarray(part, dtype=str)
            digest.update(np.ascontiguousarray(data).tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()[:16]


def graph_fingerprint(graph: HeteroGraph) -> str:
    """A hash of a network's schema, edges, weights, features and ids."""
    parts: list[object] = [graph.schema, dict(graph.num_nodes)]
    for relation in graph.schema.relations:
        matrix = graph.adjacency[relation]
        parts += [np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices, np.int64), matrix.data]
    for node_type in graph.schema.node_types:
        features = graph.features.get(node_type)
        if isinstance(features, FixedMatrix):
            csr = features.forward
            parts += [features.shape, csr.crow_indices(), csr.col_indices(), csr.values()]
        else:
            parts.append(features)
        parts.append(graph.ids.get(node_type))
    return fingerprint(*parts)
