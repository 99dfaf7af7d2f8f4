"""Encoding all towers of a model at once, with the fused kernels."""

from collections.abc import Sequence

import torch
from torch import Tensor

from diffmg.core import MetaGraph
from diffmg.engine.fused import KernelMetaGraphs, pack_metagraphs, propagate
from diffmg.engine.layout import kernel_tables
from diffmg.graph.network import HeteroGraph
from diffmg.nn.affine import affine
from diffmg.nn.encoder import Encoder
from diffmg.nn.propagation import by_columns


def encode(
    towers: Sequence[Encoder],
    graph: HeteroGraph,
    metagraphs: Sequence[MetaGraph] | KernelMetaGraphs,
    weights: Sequence[Tensor] | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, ...]:
    """Representations of each tower's target type; equal to calling `Encoder.forward` tower by tower."""
    tables = kernel_tables(graph)
    if not isinstance(metagraphs, KernelMetaGraphs):
        if len({m.depth for m in metagraphs}) > 1:
            per_tower = [[w] for w in weights] if weights is not None else [None] * len(towers)
            return tuple(
                encode([tower], graph, [m], w, generator)[0]
                for tower, m, w in zip(towers, metagraphs, per_tower, strict=True)
            )
        metagraphs = pack_metagraphs(metagraphs, tables)
    packed, factors = metagraphs, None if weights is None else metagraphs.weights(weights)
    storage = getattr(torch, graph.engine.storage)

    def run(h: Tensor) -> tuple[Tensor, ...]:
        return propagate(h, packed, factors, tables, storage)

    z = by_columns(run, [_state_0(towers, graph, generator)], graph.engine.columns)
    return tuple(tower.finish(rows) for tower, rows in zip(towers, z, strict=True))


def _state_0(towers: Sequence[Encoder], graph: HeteroGraph, generator: torch.Generator | None) -> Tensor:
    """State 0 of every tower for all nodes, (towers, nodes, dim)."""
    rows = [_projected(tower, graph, t) for tower in towers for t in graph.schema.node_types]
    h = torch.cat(rows).view(len(towers), -1, towers[0].options.dim)
    h = towers[0].activate(h, generator)
    shared = [tower.shared for tower in towers]
    return affine(h, torch.stack([s.weight for s in shared]), torch.stack([s.bias for s in shared]))


def _projected(tower: Encoder, graph: HeteroGraph, node_type: str) -> Tensor:
    """The projection of a type; zeros for types the tower does not read."""
    if node_type in tower.node_types:
        return tower.project(graph, node_type)
    return tower.shared.bias.new_zeros(graph.num_nodes[node_type], tower.options.dim)
