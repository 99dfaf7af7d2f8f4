"""Kernel tables that hold several ways to aggregate: each is a further set of operations on the same nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from diffmg.core import Relation
from diffmg.engine.layout import KernelTables, SelfTerms, Table, chunk_rows, kernel_tables
from diffmg.graph.network import HeteroGraph

CHUNK = 32
"""Rows with more entries than this are split: shorter chunks than a single model has balance the blocks of a batch."""


def stacked_tables(graphs: Sequence[HeteroGraph]) -> KernelTables:
    """The tables of networks that differ only in how they aggregate; operations of the n-th follow those before it."""
    every = [_rechunked_both(kernel_tables(graph)) for graph in graphs]
    first = every[0]
    return replace(
        first,
        forward=_stacked([t.forward for t in every]),
        backward=_stacked([t.backward for t in every]),
        self_terms=_stacked_self_terms([t.self_terms for t in every]),
        sources=torch.cat([t.sources for t in every]),
        targets=torch.cat([t.targets for t in every]),
        packed={},
    )


def operation_numbers(tables: KernelTables, variant: int) -> dict[Relation, int]:
    """Numbers of the relations of the n-th network."""
    first = variant * len(tables.numbers)
    return {o: first + number for o, number in tables.numbers.items() if isinstance(o, Relation)}


def _rechunked_both(tables: KernelTables) -> KernelTables:
    return replace(tables, forward=_rechunked(tables.forward), backward=_rechunked(tables.backward), packed={})


def _rechunked(table: Table) -> Table:
    """The same matrices with their long rows in chunks of another size."""
    counts = (table.high_row - table.low_row).tolist()
    starts = table.base.tolist()
    pointers = [table.pointer[a : a + n + 1] for a, n in zip(starts, counts, strict=True) if n]
    chunked = [chunk_rows(p, CHUNK) for p in pointers]
    number = [len(chunks) for _, chunks in chunked] + [0] * (len(counts) - len(pointers))
    places = torch.tensor([_starts(number), number], device=table.base.device, dtype=table.base.dtype)
    return replace(
        table,
        chunk_base=places[0],
        chunk_count=places[1],
        chunk_pointer=torch.cat([chunk_pointer for chunk_pointer, _ in chunked]),
        chunks=torch.cat([chunks for _, chunks in chunked]),
        max_chunks=max(number),
    )


def _stacked(tables: Sequence[Table]) -> Table:
    pointers = _starts([len(t.pointer) for t in tables])
    entries = _starts([len(t.columns) for t in tables])
    chunks = _starts([len(t.chunks) for t in tables])
    shifts = {"base": pointers, "pointer": entries, "chunk_base": chunks, "chunks": entries}
    found = {}
    for field in fields(Table):
        if field.name != "max_chunks":
            found[field.name] = _joined([getattr(t, field.name) for t in tables], shifts.get(field.name))
    return Table(**found, max_chunks=max(t.max_chunks for t in tables))


def _stacked_self_terms(terms: Sequence[SelfTerms]) -> SelfTerms:
    keeps = _starts([len(t.keep) for t in terms])
    parts = {f.name: [getattr(t, f.name) for t in terms] for f in fields(SelfTerms)}
    return SelfTerms(**{name: _joined(p, keeps if name == "base" else None) for name, p in parts.items()})


def _joined(parts: Sequence[Tensor], shifts: Sequence[int] | None) -> Tensor:
    moved = zip(parts, shifts or [0] * len(parts), strict=True)
    return torch.cat([part + shift if shift else part for part, shift in moved])


def _starts(sizes: Sequence[int]) -> list[int]:
    return [sum(sizes[:n]) for n in range(len(sizes))]
