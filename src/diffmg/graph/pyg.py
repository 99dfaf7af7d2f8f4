"""Conversion from and to PyTorch Geometric's `HeteroData`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch

from diffmg.core import DiffmgError
from diffmg.graph.aggregation import has_weights
from diffmg.graph.network import CONVERTERS, HeteroGraph
from diffmg.graph.sparse import FixedMatrix

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData


@CONVERTERS.add("from_pyg")
def from_pyg(data: HeteroData, *, reverse: bool = False) -> HeteroGraph:
    """A network from a `HeteroData`: `x` becomes features, a one-column `edge_weight` or `edge_attr` the weights."""
    num_nodes: dict[str, int] = {}
    features = {}
    for node_type in data.node_types:
        store = data[node_type]
        if store.num_nodes is None:
            raise DiffmgError(
                f"node type {node_type!r} must say its number of nodes, but got neither `x` nor `num_nodes`"
            )
        num_nodes[node_type] = int(store.num_nodes)
        if store.get("x") is not None:
            features[node_type] = _features(store.x)
    edges, weights = {}, {}
    for triple in data.edge_types:
        store = data[triple]
        if store.get("edge_index") is None:
            raise DiffmgError(f"relation {triple!r} must have an `edge_index`, but got {sorted(store.keys())}")
        edges[triple] = store.edge_index.numpy(force=True)
        attributes = store.get("edge_attr")
        one_column = attributes is not None and attributes.numel() == edges[triple].shape[1]
        weight = store.get("edge_weight", attributes if one_column else None)
        if weight is not None:
            weights[triple] = weight.flatten().numpy(force=True)
    return HeteroGraph.build(num_nodes, edges, features, weights=weights, reverse=reverse)


@CONVERTERS.add("to_pyg")
def to_pyg(graph: HeteroGraph) -> HeteroData:
    """A `HeteroData` with the network's features, edges, and the weights of relations that have any other than 1."""
    try:
        from torch_geometric.data import HeteroData
    except ImportError as error:
        raise DiffmgError(f"PyG's data need PyG, but got: {error}; pip install 'diffmg[pyg]'") from error
    data = HeteroData()
    for node_type, count in graph.num_nodes.items():
        data[node_type].num_nodes = count
        if node_type in graph.features:
            x = graph.features[node_type]
            data[node_type].x = x.forward.cpu() if isinstance(x, FixedMatrix) else x.cpu()
    for relation, matrix in graph.adjacency.items():
        data[relation.triple].edge_index = torch.from_numpy(graph.edge_index(relation))
        if has_weights(matrix):
            data[relation.triple].edge_weight = torch.from_numpy(matrix.data)
    return data


def _features(x: torch.Tensor) -> np.ndarray | sp.csr_matrix:
    if x.layout == torch.strided:
        return x.numpy(force=True)
    csr = x.cpu().to_sparse_csr()
    return sp.csr_matrix(
        (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy()), shape=tuple(x.shape)
    )
