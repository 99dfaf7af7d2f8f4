"""All propagations of a network in one table, its nodes numbered together, as the fused kernels read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import pad

from diffmg.core import EMPTY, IDENTITY, Operation
from diffmg.graph.network import HeteroGraph

CHUNK = 128
"""Rows with more entries than this are cut into chunks of this size."""


@dataclass(frozen=True)
class Table:
    """One direction: per operation a range of rows with neighbours and where its pointers start; then all entries."""

    low_row: Tensor
    high_row: Tensor
    base: Tensor
    column_type: Tensor
    pointer: Tensor
    columns: Tensor
    values: Tensor
    chunk_base: Tensor
    chunk_count: Tensor
    chunk_pointer: Tensor
    chunks: Tensor
    most: int
    """The largest number of chunks of any operation."""


@dataclass(frozen=True)
class SelfTerms:
    """What an operation does to a row itself, in both directions: times `keep` within a range, else `passing`."""

    low: Tensor
    high: Tensor
    base: Tensor
    keep: Tensor
    passing: Tensor


@dataclass(frozen=True, eq=False)
class KernelTables:
    """Both directions of every relation; operations are numbered in the order of the schema, then IDENTITY, EMPTY."""

    forward: Table
    backward: Table
    own: SelfTerms
    node_type: Tensor
    sources: Tensor
    targets: Tensor
    starts: dict[str, int]
    numbers: dict[Operation, int]
    nodes: int
    wired: dict[Any, Any] = field(default_factory=dict)
    """Meta graphs that were laid out for the kernels already."""

    @classmethod
    def of(cls, graph: HeteroGraph) -> KernelTables:
        """Gather a network's matrices, on the device where they are."""
        types, relations = graph.schema.node_types, graph.schema.relations
        counts = [graph.num_nodes[t] for t in types]
        starts = dict(zip(types, _running(counts), strict=True))
        special: list[Operation] = [IDENTITY, EMPTY]
        ends = [[types.index(r.source), types.index(r.target)] for r in relations] + [[0, 0]] * len(special)
        sources, targets = torch.tensor(ends, device=graph.device).T.contiguous()
        numbers = torch.arange(len(types), device=graph.device, dtype=torch.int8)
        return cls(
            _table(graph, starts, forward=True),
            _table(graph, starts, forward=False),
            _own(graph, starts),
            torch.repeat_interleave(numbers, torch.tensor(counts, device=graph.device)),
            sources,
            targets,
            starts,
            {operation: n for n, operation in enumerate([*relations, *special])},
            sum(counts),
        )


_STACKS: WeakKeyDictionary[HeteroGraph, KernelTables] = WeakKeyDictionary()


def kernel_tables(graph: HeteroGraph) -> KernelTables:
    """The tables of a network, built once."""
    if graph not in _STACKS:
        _STACKS[graph] = KernelTables.of(graph)
    return _STACKS[graph]


def cut(pointer: Tensor) -> tuple[Tensor, Tensor]:
    """Chunks of long rows: per row where its chunks start (rows + 1), and per chunk its first entry and one past."""
    length = pointer.diff()
    number = torch.where(length > CHUNK, (length + CHUNK - 1) // CHUNK, 0)
    chunk_pointer = pad(number.cumsum(0, dtype=pointer.dtype), (1, 0))
    row = torch.repeat_interleave(torch.arange(len(number), device=pointer.device), number)
    place = torch.arange(len(row), device=pointer.device, dtype=pointer.dtype) - chunk_pointer[row]
    low = pointer[row] + place * CHUNK
    return chunk_pointer, torch.stack([low, torch.minimum(low + CHUNK, pointer[row + 1])], dim=1)


def _own(graph: HeteroGraph, starts: Mapping[str, int]) -> SelfTerms:
    relations = graph.schema.relations
    low = [starts[r.target] for r in relations]
    rows = [graph.num_nodes[r.target] for r in relations]
    kept = [graph.propagation[r].keep for r in relations]
    keep = [torch.zeros(n, device=graph.device) if k is None else k.flatten() for k, n in zip(kept, rows, strict=True)]
    passing = torch.ones(len(relations) + 2, device=graph.device)
    passing[-1] = 0
    return SelfTerms(
        _small(low, graph), _small(_sums(low, rows), graph), _small(_running(rows), graph), torch.cat(keep), passing
    )


def _table(graph: HeteroGraph, starts: Mapping[str, int], *, forward: bool) -> Table:
    types, relations = graph.schema.node_types, graph.schema.relations
    ends = [(r.target, r.source) if forward else (r.source, r.target) for r in relations]
    matrices = [graph.propagation[r].matrix for r in relations]
    halves = [m.forward if forward else m.backward for m in matrices]
    low = [starts[row] for row, _ in ends]
    count = [graph.num_nodes[row] for row, _ in ends]
    sizes = [h.values().numel() for h in halves]
    index = torch.int32 if sum(sizes) < 2**31 else torch.int64
    pointers = [h.crow_indices().to(index) + e for h, e in zip(halves, _running(sizes), strict=True)]
    cuts = [cut(p) for p in pointers]
    return Table(
        _small(low, graph),
        _small(_sums(low, count), graph),
        _small(_running([n + 1 for n in count]), graph),
        _small([types.index(column) for _, column in ends], graph),
        torch.cat(pointers),
        torch.cat([h.col_indices() + starts[column] for h, (_, column) in zip(halves, ends, strict=True)]),
        torch.cat([h.values() for h in halves]),
        _small(_running([len(chunks) for _, chunks in cuts]), graph),
        _small([len(chunks) for _, chunks in cuts], graph),
        torch.cat([chunk_pointer for chunk_pointer, _ in cuts]),
        torch.cat([chunks for _, chunks in cuts]),
        max(len(chunks) for _, chunks in cuts),
    )


def _small(values: Sequence[int], graph: HeteroGraph) -> Tensor:
    """A number per operation; IDENTITY and EMPTY have no rows."""
    return torch.tensor([*values, 0, 0], device=graph.device)


def _running(sizes: Sequence[int]) -> list[int]:
    """Where each piece starts when they are laid one after another."""
    return [0, *accumulate(sizes)][: len(sizes)]


def _sums(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]
