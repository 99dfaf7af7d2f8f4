"""Triton kernels that propagate along the programs of many towers, read from device memory."""

from __future__ import annotations

import triton
import triton.language as tl

from diffmg.engine.kernels import _sum_chunks, _sum_entries

# fmt: off


@triton.jit
def _state(
    first: tl.tensor, rest: tl.tensor, state: tl.tensor, tower: tl.tensor, depth: tl.tensor, size: tl.tensor,
) -> tl.tensor:
    """Where a tower's state begins."""
    if state == 0:  # noqa: SIM108  (Triton has no ternary operator on tensors)
        x = first + tower * size
    else:
        x = rest + (tower * depth + state - 1) * size
    return x


@triton.jit(do_not_specialize=["state", "depth", "nodes", "most", "room"])
def cell_chunks(
    first: tl.tensor, rest: tl.tensor, entries: tl.tensor, factors: tl.tensor, counts: tl.tensor,
    state: tl.tensor, depth: tl.tensor, nodes: tl.tensor, most: tl.tensor, room: tl.tensor,
    chunk_base: tl.tensor, chunk_count: tl.tensor, chunks: tl.tensor, columns: tl.tensor, values: tl.tensor,
    partial: tl.tensor, WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """Sums of the chunks of the long rows of every message into one state. Grid: every so many chunks, tower."""
    tower = tl.program_id(1)
    place = tower * (depth + 1) + state
    size = nodes.to(tl.int64) * WIDTH
    d = tl.arange(0, D)
    for e in range(tl.load(counts + place)):
        entry = place * room + e
        operation = tl.load(entries + 3 * entry)
        wanted = tl.where(tl.load(factors + 2 * entry) != 0, tl.load(chunk_count + operation), 0)
        x = _state(first, rest, tl.load(entries + 3 * entry + 1), tower, depth, size)
        for chunk in range(tl.program_id(0), wanted, tl.num_programs(0)):
            at = tl.load(chunk_base + operation) + chunk + tl.arange(0, 1)
            total = _sum_entries(
                x, columns, values, tl.load(chunks + 2 * at), tl.load(chunks + 2 * at + 1), d, WIDTH, D, 1, BLOCK
            )
            out = ((tower * room + e).to(tl.int64) * most + chunk) * WIDTH
            tl.store(partial + out + d[None, :], total, mask=(d < WIDTH)[None, :])


@triton.jit(do_not_specialize=["state", "low_state", "high_state", "depth", "nodes", "most", "room"])
def compute_cells(
    first: tl.tensor, rest: tl.tensor, out: tl.tensor, out_stride: tl.tensor,
    cells: tl.tensor, entries: tl.tensor, factors: tl.tensor, counts: tl.tensor, passed: tl.tensor,
    node_type: tl.tensor, state: tl.tensor, low_state: tl.tensor, high_state: tl.tensor, depth: tl.tensor,
    nodes: tl.tensor, most: tl.tensor, room: tl.tensor,
    keep_low: tl.tensor, keep_high: tl.tensor, keep_base: tl.tensor, keep: tl.tensor,
    low_row: tl.tensor, high_row: tl.tensor, base: tl.tensor,
    pointer: tl.tensor, columns: tl.tensor, values: tl.tensor, chunk_pointer: tl.tensor, partial: tl.tensor,
    TYPES: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    CHUNKED: tl.constexpr,
) -> None:
    """The computed cells of one state: what passes, plus messages; other cells are left alone. Grid: rows, tower."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tower = tl.program_id(1)
    d = tl.arange(0, D)
    at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
    size = nodes.to(tl.int64) * WIDTH
    place = tower * (depth + 1) + state
    kind = tl.load(node_type + row, mask=row < nodes, other=0).to(tl.int64)
    alive = (row < nodes) & (((tl.load(cells + place) >> kind) & 1) == 1)
    columns_there = (d < WIDTH)[None, :]
    if tl.max(alive.to(tl.int32), axis=0) == 1:
        total = tl.zeros([ROWS, D], tl.float32)
        for j in range(low_state, high_state):
            factor = tl.load(passed + (place * (depth + 1) + j) * TYPES + kind, mask=alive, other=0.0)
            if tl.max((factor != 0).to(tl.int32), axis=0) == 1:
                x = _state(first, rest, j, tower, depth, size)
                total += factor[:, None] * tl.load(x + at, mask=(factor != 0)[:, None] & columns_there, other=0.0)
        for e in range(tl.load(counts + place)):
            entry = place * room + e
            operation = tl.load(entries + 3 * entry)
            weight = tl.load(factors + 2 * entry)
            own = tl.load(factors + 2 * entry + 1)
            if own != 0:
                lowest = tl.load(keep_low + operation)
                mine = alive & (row >= lowest) & (row < tl.load(keep_high + operation))
                if tl.max(mine.to(tl.int32), axis=0) == 1:
                    share = tl.load(keep + tl.load(keep_base + operation) + row - lowest, mask=mine, other=0.0) * own
                    x = _state(first, rest, tl.load(entries + 3 * entry + 2), tower, depth, size)
                    total += share[:, None] * tl.load(x + at, mask=(share != 0)[:, None] & columns_there, other=0.0)
            if weight != 0:
                lowest = tl.load(low_row + operation)
                linked = alive & (row >= lowest) & (row < tl.load(high_row + operation))
                if tl.max(linked.to(tl.int32), axis=0) == 1:
                    x = _state(first, rest, tl.load(entries + 3 * entry + 1), tower, depth, size)
                    where = tl.load(base + operation) + row - lowest
                    low = tl.load(pointer + where, mask=linked, other=0)
                    high = tl.load(pointer + where + 1, mask=linked, other=0)
                    if CHUNKED:
                        first_chunk = tl.load(chunk_pointer + where, mask=linked, other=0)
                        last_chunk = tl.load(chunk_pointer + where + 1, mask=linked, other=0)
                        high = tl.where(last_chunk > first_chunk, low, high)
                        sums = partial + (tower * room + e).to(tl.int64) * most * WIDTH
                        total += weight * _sum_chunks(sums, first_chunk, last_chunk, d, WIDTH, D, ROWS, BLOCK)
                    total += weight * _sum_entries(x, columns, values, low, high, d, WIDTH, D, ROWS, BLOCK)
        tl.store(out + tower * out_stride + at, total, mask=alive[:, None] & columns_there)
