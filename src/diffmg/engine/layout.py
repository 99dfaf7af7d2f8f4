"""All propagation matrices of a network in one table, with one numbering of all nodes, as the fused kernels read it."""

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
"""Rows with more entries than this are split into chunks of this size."""


@dataclass(frozen=True)
class Table:
    """The CSR matrices of one direction: per operation its rows and the offset of its pointers; then all entries."""

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
    max_chunks: int
    """The largest number of chunks of any operation."""


@dataclass(frozen=True)
class SelfTerms:
    """The factor of a row's own state per operation, in both directions: `keep` within a range, else `passing`."""

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
    self_terms: SelfTerms
    node_type: Tensor
    sources: Tensor
    targets: Tensor
    starts: dict[str, int]
    numbers: dict[Operation, int]
    nodes: int
    packed: dict[Any, Any] = field(default_factory=dict)
    """Cache of the meta graphs packed for the kernels."""

    @classmethod
    def of(cls, graph: HeteroGraph) -> KernelTables:
        """Build from a network's matrices, on their device."""
        types, relations = graph.schema.node_types, graph.schema.relations
        counts = [graph.num_nodes[t] for t in types]
        starts = dict(zip(types, _offsets(counts), strict=True))
        special: list[Operation] = [IDENTITY, EMPTY]
        ends = [[types.index(r.source), types.index(r.target)] for r in relations] + [[0, 0]] * len(special)
        sources, targets = torch.tensor(ends, device=graph.device).T.contiguous()
        numbers = torch.arange(len(types), device=graph.device, dtype=torch.int8)
        return cls(
            _table(graph, starts, forward=True),
            _table(graph, starts, forward=False),
            _self_terms(graph, starts),
            torch.repeat_interleave(numbers, torch.tensor(counts, device=graph.device)),
            sources,
            targets,
            starts,
            {operation: n for n, operation in enumerate([*relations, *special])},
            sum(counts),
        )


_TABLES: WeakKeyDictionary[HeteroGraph, KernelTables] = WeakKeyDictionary()


def kernel_tables(graph: HeteroGraph) -> KernelTables:
    """The tables of a network, built once and cached."""
    if graph not in _TABLES:
        _TABLES[graph] = KernelTables.of(graph)
    return _TABLES[graph]


def chunk_rows(pointer: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Split rows longer than `size`: per row the offset of its chunks (rows + 1), per chunk its range of entries."""
    length = pointer.diff()
    number = torch.where(length > size, (length + size - 1) // size, 0)
    chunk_pointer = pad(number.cumsum(0, dtype=pointer.dtype), (1, 0))
    row = torch.repeat_interleave(torch.arange(len(number), device=pointer.device), number)
    place = torch.arange(len(row), device=pointer.device, dtype=pointer.dtype) - chunk_pointer[row]
    low = pointer[row] + place * size
    return chunk_pointer, torch.stack([low, torch.minimum(low + size, pointer[row + 1])], dim=1)


def _self_terms(graph: HeteroGraph, starts: Mapping[str, int]) -> SelfTerms:
    relations = graph.schema.relations
    low = [starts[r.target] for r in relations]
    rows = [graph.num_nodes[r.target] for r in relations]
    keeps = [graph.propagation[r].keep for r in relations]
    keep = [torch.zeros(n, device=graph.device) if k is None else k.flatten() for k, n in zip(keeps, rows, strict=True)]
    passing = torch.ones(len(relations) + 2, device=graph.device)
    passing[-1] = 0
    first, end, base = (_per_operation(values, graph) for values in (low, _sums(low, rows), _offsets(rows)))
    return SelfTerms(first, end, base, torch.cat(keep), passing)


def _table(graph: HeteroGraph, starts: Mapping[str, int], *, forward: bool) -> Table:
    types, relations = graph.schema.node_types, graph.schema.relations
    ends = [(r.target, r.source) if forward else (r.source, r.target) for r in relations]
    matrices = [graph.propagation[r].matrix for r in relations]
    halves = [m.forward if forward else m.backward for m in matrices]
    low = [starts[row] for row, _ in ends]
    count = [graph.num_nodes[row] for row, _ in ends]
    sizes = [h.values().numel() for h in halves]
    index = torch.int32 if sum(sizes) < 2**31 else torch.int64
    pointers = [h.crow_indices().to(index) + e for h, e in zip(halves, _offsets(sizes), strict=True)]
    chunked = [chunk_rows(p, CHUNK) for p in pointers]
    return Table(
        _per_operation(low, graph),
        _per_operation(_sums(low, count), graph),
        _per_operation(_offsets([n + 1 for n in count]), graph),
        _per_operation([types.index(column) for _, column in ends], graph),
        torch.cat(pointers),
        torch.cat([h.col_indices() + starts[column] for h, (_, column) in zip(halves, ends, strict=True)]),
        torch.cat([h.values() for h in halves]),
        _per_operation(_offsets([len(chunks) for _, chunks in chunked]), graph),
        _per_operation([len(chunks) for _, chunks in chunked], graph),
        torch.cat([chunk_pointer for chunk_pointer, _ in chunked]),
        torch.cat([chunks for _, chunks in chunked]),
        max(len(chunks) for _, chunks in chunked),
    )


def _per_operation(values: Sequence[int], graph: HeteroGraph) -> Tensor:
    """One number per operation; 0 for IDENTITY and EMPTY, which have no rows."""
    return torch.tensor([*values, 0, 0], device=graph.device)


def _offsets(sizes: Sequence[int]) -> list[int]:
    """The offset of each part when parts of these sizes are concatenated."""
    return [0, *accumulate(sizes)][: len(sizes)]


def _sums(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]
