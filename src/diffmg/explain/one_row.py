"""What each meta path and each source node brings to one node, by going back along the paths from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import EMPTY, MetaPath, Relation
from diffmg.explain.inputs import Part
from diffmg.explain.tower import Tower, kept_share
from diffmg.graph.network import HeteroGraph

Ways = list[sp.csr_matrix | None]
"""For states 0 to K of a type, the factors (channels, n) with which its nodes reach the one that is explained."""


@dataclass(frozen=True)
class Arrival:
    """What arrives along one path, by source node."""

    path: MetaPath
    node_type: str
    nodes: NDArray[np.int64]
    values: Tensor
    """(nodes, dim); they sum to the path's contribution."""


@torch.no_grad()
def arrivals(tower: Tower, node: int, levels: Sequence[Sequence[MetaPath]]) -> Iterator[Arrival]:
    """Everything that reaches a node along these paths, given by length from 0 on."""
    matrices = _matrices(tower.graph)
    ways: dict[MetaPath, Ways] = {(): _back(tower, tower.target, _injected(tower, node))}
    for number, paths in enumerate(levels):
        if number:
            ways = {path: _before(tower, path, ways[path[1:]], matrices) for path in paths if path[1:] in ways}
        for path, steps in ways.items():
            if steps[0] is not None:
                yield from _arrived(tower, node, path, steps[0])


def _injected(tower: Tower, node: int) -> Ways:
    """The node itself, in the states that are read out."""
    channels, n = tower.readout.channels, tower.graph.num_nodes[tower.target]
    found: Ways = [None] * (tower.metagraph.depth + 1)
    for number, channel in enumerate(channels):
        for k, factor in channel.items():
            found[k] = _sum(found[k], sp.csr_matrix(([factor], ([number], [node])), shape=(len(channels), n)))
    return found


def _before(tower: Tower, path: MetaPath, later: Ways, matrices: dict[Relation, sp.csr_matrix]) -> Ways:
    """Ways from the sources of a path's first relation, given those from its targets."""
    relation = path[0]
    found: Ways = [None] * len(later)
    for k in range(1, len(later)):
        for i, operation, w in tower.links(k):
            if operation == relation and later[k] is not None:
                found[i] = _sum(found[i], w * (later[k] @ _matrix(tower.graph, relation, matrices)))
    return _back(tower, relation.source, found)


def _back(tower: Tower, node_type: str, ways: Ways) -> Ways:
    """The ways with those on which rows stay where they are from state to state."""
    found = list(ways)
    for k in range(len(ways) - 1, 0, -1):
        for i, operation, w in tower.links(k):
            if found[k] is not None and operation is not EMPTY:
                found[i] = _sum(found[i], w * _kept(tower.graph, operation, node_type, found[k]))
    return found


def _kept(graph: HeteroGraph, operation: object, node_type: str, ways: sp.csr_matrix) -> sp.csr_matrix:
    share = kept_share(graph, operation, node_type)  # type: ignore[arg-type]
    if isinstance(share, float):
        return ways
    factors = share.flatten()[torch.from_numpy(ways.indices.astype(np.int64)).to(share.device)]
    return sp.csr_matrix((ways.data * factors.numpy(force=True), ways.indices, ways.indptr), shape=ways.shape)


def _sum(one: sp.csr_matrix | None, other: sp.csr_matrix) -> sp.csr_matrix:
    return other if one is None else sp.csr_matrix(one + other)


def _arrived(tower: Tower, node: int, path: MetaPath, ways: sp.csr_matrix) -> Iterator[Arrival]:
    node_type = tower.source_of(path)
    nodes = np.unique(ways.indices).astype(np.int64)
    factors = torch.from_numpy(ways[:, nodes].T.toarray()).to(tower.result)
    readout = tower.readout.at(torch.tensor([node], device=tower.result.device))
    for part in tower.inputs.get(node_type, ()):
        rows = _rows(part, nodes, own=node if node_type == tower.target else None)
        values = readout.combine(factors.unsqueeze(2) * rows.unsqueeze(1))
        yield Arrival(path if part.relation is None else (part.relation, *path), node_type, nodes, values)


def _rows(part: Part, nodes: NDArray[np.int64], own: int | None) -> Tensor:
    """Rows of state 0; a node's own label is not heard."""
    rows = part.rows[torch.from_numpy(nodes).to(part.rows.device)]
    if part.is_label and own is not None:
        rows = rows * torch.from_numpy(nodes != own).to(rows).unsqueeze(1)
    return rows


_MATRICES: WeakKeyDictionary[HeteroGraph, dict[Relation, sp.csr_matrix]] = WeakKeyDictionary()


def _matrices(graph: HeteroGraph) -> dict[Relation, sp.csr_matrix]:
    return _MATRICES.setdefault(graph, {})


def _matrix(graph: HeteroGraph, relation: Relation, known: dict[Relation, sp.csr_matrix]) -> sp.csr_matrix:
    """The matrix of a relation's neighbours on the host, a node's own share left out; made once and kept."""
    if relation not in known:
        propagation = graph.propagation[relation]
        matrix = propagation.matrix.to_scipy()
        if propagation.held is not None:
            matrix = sp.csr_matrix(matrix - sp.diags(propagation.held.flatten().numpy(force=True)))
            matrix.eliminate_zeros()
        known[relation] = matrix
    return known[relation]
