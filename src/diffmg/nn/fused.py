"""Encoding all towers of a model at once, with the fused kernels."""

from collections.abc import Mapping, Sequence

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
    z = _propagated(_state_0(towers, graph, generator), graph, metagraphs, weights)
    return tuple(tower.readout([rows], None, generator) for tower, rows in zip(towers, z, strict=True))


def propagate_states(
    firsts: Sequence[Mapping[str, Tensor]],
    graph: HeteroGraph,
    metagraphs: Sequence[MetaGraph],
    weights: Sequence[Tensor] | None,
) -> tuple[Tensor, ...]:
    """The last state of each tower's target type, from state 0 of the types it reads."""
    if len({m.depth for m in metagraphs}) > 1:
        each = [None] * len(firsts) if weights is None else [[w] for w in weights]
        several = zip(firsts, metagraphs, each, strict=True)
        return tuple(propagate_states([first], graph, [m], w)[0] for first, m, w in several)
    width = next(iter(firsts[0].values())).shape[1]
    rows = [first.get(t, graph.zeros(t, width)) for first in firsts for t in graph.schema.node_types]
    h = torch.cat(rows).view(len(firsts), -1, width)
    return _propagated(h, graph, pack_metagraphs(metagraphs, kernel_tables(graph)), weights)


def _propagated(
    h: Tensor, graph: HeteroGraph, packed: KernelMetaGraphs, weights: Sequence[Tensor] | None
) -> tuple[Tensor, ...]:
    tables, storage = kernel_tables(graph), getattr(torch, graph.engine.storage)
    factors = None if weights is None else packed.weights(weights)

    def run(h: Tensor) -> tuple[Tensor, ...]:
        return propagate(h, packed, factors, tables, storage)

    return by_columns(run, [h], graph.engine.columns)


def _state_0(towers: Sequence[Encoder], graph: HeteroGraph, generator: torch.Generator | None) -> Tensor:
    """State 0 of every tower for all nodes, (towers, nodes, dim)."""
    rows = [_projected(tower, graph, t, generator) for tower in towers for t in graph.schema.node_types]
    h = torch.cat(rows).view(len(towers), -1, towers[0].settings.dim)
    h = towers[0].activate(h, generator)
    shared = [tower.shared for tower in towers]
    return affine(h, torch.stack([s.weight for s in shared]), torch.stack([s.bias for s in shared]))


def _projected(tower: Encoder, graph: HeteroGraph, node_type: str, generator: torch.Generator | None) -> Tensor:
    """The projection of a type; zeros for types the tower does not read."""
    if node_type in tower.node_types:
        return tower.project(graph, node_type, generator)
    return graph.zeros(node_type, tower.settings.dim)
