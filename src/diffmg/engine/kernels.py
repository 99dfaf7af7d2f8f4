"""Triton kernels: sums over neighbours that read the chosen operation from device memory.

A matrix is a table: `pointer` gives each row's entries, `columns` and `values` hold them. Each program takes ROWS rows,
a few entries of each at a time. Rows with many entries are split into chunks, which are summed first in parallel, so
that one high-degree node does not hold up all others.
"""

from __future__ import annotations

import triton
import triton.language as tl

# fmt: off


@triton.jit
def _sum_entries(
    x: tl.tensor, columns: tl.tensor, values: tl.tensor, low: tl.tensor, high: tl.tensor, d: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
) -> tl.tensor:
    """Σ values * x[columns] over the entries low..high of each row, (ROWS, D) in fp32."""
    total = tl.zeros([ROWS, BLOCK, D], tl.float32)
    for start in range(0, tl.max(high - low, axis=0), BLOCK):
        entry = low[:, None] + start + tl.arange(0, BLOCK)[None, :]
        there = entry < high[:, None]
        column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
        value = tl.load(values + entry, mask=there, other=0.0).to(tl.float32)
        inside = there[:, :, None] & (d < WIDTH)[None, None, :]
        rows = tl.load(x + column[:, :, None] * WIDTH + d[None, None, :], mask=inside, other=0.0).to(tl.float32)
        total += value[:, :, None] * rows
    return tl.sum(total, axis=1)


@triton.jit
def _sum_chunks(
    partial: tl.tensor, low: tl.tensor, high: tl.tensor, d: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
) -> tl.tensor:
    """Σ partial[low..high] of each row, (ROWS, D)."""
    total = tl.zeros([ROWS, BLOCK, D], tl.float32)
    for start in range(0, tl.max(high - low, axis=0), BLOCK):
        number = (low[:, None] + start + tl.arange(0, BLOCK)[None, :]).to(tl.int64)
        inside = (number < high[:, None])[:, :, None] & (d < WIDTH)[None, None, :]
        total += tl.load(partial + number[:, :, None] * WIDTH + d[None, None, :], mask=inside, other=0.0)
    return tl.sum(total, axis=1)


@triton.jit(do_not_specialize=["empty", "count", "depth"])
def live_types(
    operations: tl.tensor, links: tl.tensor, sources: tl.tensor, targets: tl.tensor, empty: tl.tensor,
    target_masks: tl.tensor, live: tl.tensor, count: tl.tensor,
    depth: tl.tensor, STATES: tl.constexpr,
) -> None:
    """Walk back from the target: per state, the node types that reach it, as bits. One program per tower."""
    tower = tl.program_id(0)
    state = tl.arange(0, STATES)
    masks = tl.where(state == depth, tl.load(target_masks + tower), 0)
    for n in range(count):
        choice = count - 1 - n
        into = tl.load(links + 2 * choice)
        out_of = tl.load(links + 2 * choice + 1)
        operation = tl.load(operations + tower * count + choice)
        reached = tl.sum(tl.where(state == into, masks, 0), axis=0)
        hit = (reached >> tl.load(targets + operation)) & 1
        reached = reached | (hit << tl.load(sources + operation))
        reached = tl.where(operation == empty, 0, reached)
        masks = tl.where(state == out_of, masks | reached, masks)
    tl.store(live + tower * (depth + 1) + state, masks, mask=state <= depth)


@triton.jit(do_not_specialize=["low_entry", "choices", "depth", "nodes", "most"])
def propagate_chunks(
    first: tl.tensor, rest: tl.tensor, operations: tl.tensor, entries: tl.tensor, live: tl.tensor,
    low_entry: tl.tensor, choices: tl.tensor, depth: tl.tensor,
    nodes: tl.tensor, most: tl.tensor,
    column_type: tl.tensor, chunk_base: tl.tensor, chunk_count: tl.tensor, chunks: tl.tensor, columns: tl.tensor,
    values: tl.tensor, partial: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """Sums of the chunks of every operation that writes into one state. Grid: chunk, entry, tower."""
    chunk = tl.program_id(0)
    number = tl.program_id(1)
    tower = tl.program_id(2)
    source = tl.load(entries + 2 * (low_entry + number))
    choice = tl.load(entries + 2 * (low_entry + number) + 1)
    operation = tl.load(operations + tower * choices + choice)
    reached = tl.load(live + tower * (depth + 1) + source)
    if (chunk < tl.load(chunk_count + operation)) & (((reached >> tl.load(column_type + operation)) & 1) == 1):
        d = tl.arange(0, D)
        place = tl.load(chunk_base + operation) + chunk + tl.arange(0, 1)
        size = nodes.to(tl.int64) * WIDTH
        if source == 0:
            x = first + tower * size
        else:
            x = rest + (tower * depth + source - 1) * size
        low = tl.load(chunks + 2 * place)
        high = tl.load(chunks + 2 * place + 1)
        total = _sum_entries(x, columns, values, low, high, d, WIDTH, D, 1, BLOCK)
        at = ((tower * tl.num_programs(1) + number).to(tl.int64) * most + chunk) * WIDTH
        tl.store(partial + at + d[None, :], total, mask=(d < WIDTH)[None, :])


@triton.jit
def _own_share(
    row: tl.tensor, alive: tl.tensor, operation: tl.tensor,
    keep_low: tl.tensor, keep_high: tl.tensor, keep_base: tl.tensor, keep: tl.tensor, passing: tl.tensor,
) -> tl.tensor:
    """What an operation multiplies a row itself with: its `keep` within a range of rows, else `passing`."""
    lowest = tl.load(keep_low + operation)
    changed = alive & (row >= lowest) & (row < tl.load(keep_high + operation))
    share = tl.load(keep + tl.load(keep_base + operation) + row - lowest, mask=changed, other=0.0)
    return tl.where(changed, share, tl.load(passing + operation))


@triton.jit(do_not_specialize=["state", "low_entry", "number_entries", "choices", "depth", "nodes", "most"])
def propagate(
    first: tl.tensor, rest: tl.tensor, out: tl.tensor, out_stride: tl.tensor, weights: tl.tensor, held: tl.tensor,
    held_stride: tl.tensor, dots: tl.tensor,
    operations: tl.tensor, entries: tl.tensor, live: tl.tensor, node_type: tl.tensor,
    state: tl.tensor, low_entry: tl.tensor, number_entries: tl.tensor, choices: tl.tensor, depth: tl.tensor,
    nodes: tl.tensor, most: tl.tensor,
    keep_low: tl.tensor, keep_high: tl.tensor, keep_base: tl.tensor, keep: tl.tensor, passing: tl.tensor,
    low_row: tl.tensor, high_row: tl.tensor, base: tl.tensor, column_type: tl.tensor,
    pointer: tl.tensor, columns: tl.tensor, values: tl.tensor, chunk_pointer: tl.tensor, partial: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    WEIGHTED: tl.constexpr, DOT: tl.constexpr, ZERO: tl.constexpr, CHUNKED: tl.constexpr,
) -> None:
    """One state from the others: per row, Σ over entries of weight * (sum over neighbours + share * own row).

    Rows whose type is not live in the state are left alone, or set to zero with ZERO. With DOT, the products of each
    entry's message with the rows `held` are stored: their sums are the gradient of the weights. Grid: rows, tower.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tower = tl.program_id(1)
    d = tl.arange(0, D)
    at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
    size = nodes.to(tl.int64) * WIDTH
    kind = tl.load(node_type + row, mask=row < nodes, other=0).to(tl.int64)
    mine = tl.load(live + tower * (depth + 1) + state)
    alive = (row < nodes) & (((mine >> kind) & 1) == 1)
    there = alive[:, None] & (d < WIDTH)[None, :]
    if tl.max(alive.to(tl.int32), axis=0) == 1:
        total = tl.zeros([ROWS, D], tl.float32)
        for e in range(number_entries):
            source = tl.load(entries + 2 * (low_entry + e))
            choice = tl.load(entries + 2 * (low_entry + e) + 1)
            operation = tl.load(operations + tower * choices + choice)
            reached = tl.load(live + tower * (depth + 1) + source)
            lowest = tl.load(low_row + operation)
            columns_live = ((reached >> tl.load(column_type + operation)) & 1) == 1
            linked = alive & (row >= lowest) & (row < tl.load(high_row + operation)) & columns_live
            place = tl.load(base + operation) + row - lowest
            low = tl.load(pointer + place, mask=linked, other=0)
            high = tl.load(pointer + place + 1, mask=linked, other=0)
            share = _own_share(row, alive, operation, keep_low, keep_high, keep_base, keep, passing)
            own = there & (((reached >> kind) & 1) == 1)[:, None]
            if source == 0:
                x = first + tower * size
            else:
                x = rest + (tower * depth + source - 1) * size
            message = share[:, None] * tl.load(x + at, mask=own, other=0.0).to(tl.float32)
            if CHUNKED:
                first_chunk = tl.load(chunk_pointer + place, mask=linked, other=0)
                last_chunk = tl.load(chunk_pointer + place + 1, mask=linked, other=0)
                high = tl.where(last_chunk > first_chunk, low, high)
                sums = partial + (tower * number_entries + e).to(tl.int64) * most * WIDTH
                message += _sum_chunks(sums, first_chunk, last_chunk, d, WIDTH, D, ROWS, BLOCK)
            message += _sum_entries(x, columns, values, low, high, d, WIDTH, D, ROWS, BLOCK)
            if DOT:
                kept = tl.load(held + tower * held_stride + at, mask=there, other=0.0).to(tl.float32)
                products = tl.sum(message * kept, axis=1)
                tl.store(dots + (tower * choices + choice).to(tl.int64) * nodes + row, products, mask=alive)
            if WEIGHTED:
                message *= tl.load(weights + tower * choices + choice)
            total += message
        tl.store(out + tower * out_stride + at, total.to(out.dtype.element_ty), mask=there)
    if ZERO:
        dead = (row < nodes)[:, None] & (d < WIDTH)[None, :] & (alive[:, None] == 0)
        tl.store(out + tower * out_stride + at, tl.zeros([ROWS, D], out.dtype.element_ty), mask=dead)
