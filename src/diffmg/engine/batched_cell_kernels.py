"""Triton kernels that propagate along the programs of many towers, read from device memory.

The states of a tower, (depth + 1, nodes, dim), are one buffer. A cell is the rows of one type in one state; its parts
are the messages it receives and what it takes over from other states.
"""

from __future__ import annotations

import triton
import triton.language as tl

from diffmg.engine.kernels import _sum_entries

# fmt: off


@triton.jit(do_not_specialize=["state", "depth", "nodes", "most", "room", "messages"])
def cell_chunks(
    states: tl.tensor, ranges: tl.tensor, parts: tl.tensor, factors: tl.tensor,
    state: tl.tensor, depth: tl.tensor, nodes: tl.tensor, most: tl.tensor, room: tl.tensor, messages: tl.tensor,
    chunk_base: tl.tensor, chunk_count: tl.tensor, chunks: tl.tensor, columns: tl.tensor, values: tl.tensor,
    partial: tl.tensor, TYPES: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """Sums of the chunks of the long rows of every message into one state. Grid: every so many chunks, tower."""
    tower = tl.program_id(1)
    place = (tower * (depth + 1) + state) * TYPES * 2
    size = nodes.to(tl.int64) * WIDTH
    own = states + tower * (depth + 1) * size
    d = tl.arange(0, D)
    for kind in range(TYPES):
        for p in range(tl.load(ranges + place + 2 * kind), tl.load(ranges + place + 2 * kind + 1)):
            part = tower * room + p
            operation = tl.maximum(tl.load(parts + 4 * part), 0)
            wanted = tl.where(tl.load(factors + 2 * part) != 0, tl.load(chunk_count + operation), 0)
            x = own + tl.load(parts + 4 * part + 1) * size
            sums = partial + (tower * messages + tl.load(parts + 4 * part + 3)).to(tl.int64) * most * WIDTH
            for chunk in range(tl.program_id(0), wanted, tl.num_programs(0)):
                at = tl.load(chunk_base + operation) + chunk + tl.arange(0, 1)
                total = _sum_entries(
                    x, columns, values, tl.load(chunks + 2 * at), tl.load(chunks + 2 * at + 1), d, WIDTH, D, 1, BLOCK
                )
                tl.store(sums + chunk * WIDTH + d[None, :], total, mask=(d < WIDTH)[None, :])


@triton.jit
def _entry(
    x: tl.tensor, columns: tl.tensor, values: tl.tensor, entry: tl.tensor, high: tl.tensor, d: tl.tensor,
    WIDTH: tl.constexpr,
) -> tl.tensor:
    """One entry of each row: its value times the row of x in its column."""
    there = entry < high
    column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
    value = tl.load(values + entry, mask=there, other=0.0)
    inside = there[:, None] & (d < WIDTH)[None, :]
    return value[:, None] * tl.load(x + column[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)


@triton.jit(do_not_specialize=["state", "depth", "nodes", "most", "room", "messages"])
def compute_cells(
    states: tl.tensor, cells: tl.tensor, ranges: tl.tensor, parts: tl.tensor, factors: tl.tensor, blocks: tl.tensor,
    state: tl.tensor, depth: tl.tensor, nodes: tl.tensor, most: tl.tensor, room: tl.tensor, messages: tl.tensor,
    keep_low: tl.tensor, keep_high: tl.tensor, keep_base: tl.tensor, keep: tl.tensor,
    low_row: tl.tensor, high_row: tl.tensor, base: tl.tensor,
    pointer: tl.tensor, columns: tl.tensor, values: tl.tensor, chunk_pointer: tl.tensor, partial: tl.tensor,
    TYPES: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, CHUNKED: tl.constexpr,
) -> None:
    """The computed cells of one state; others are left alone. Grid: block of rows of one type, tower.

    Loads that do not depend on each other stand together: what takes time is waiting for them.
    """
    block = 3 * tl.program_id(0)
    tower = tl.program_id(1)
    kind = tl.load(blocks + block + 2)
    place = tower * (depth + 1) + state
    if ((tl.load(cells + place) >> kind.to(tl.int64)) & 1) == 1:
        row = tl.load(blocks + block) + tl.arange(0, ROWS)
        inside = row < tl.load(blocks + block + 1)
        d = tl.arange(0, D)
        at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
        columns_there = (d < WIDTH)[None, :]
        size = nodes.to(tl.int64) * WIDTH
        own_states = states + tower * (depth + 1) * size
        total = tl.zeros([ROWS, D], tl.float32)
        of_cell = ranges + (place * TYPES + kind) * 2
        for p in range(tl.load(of_cell), tl.load(of_cell + 1)):
            part = tower * room + p
            passes = tl.load(parts + 4 * part) < 0
            operation = tl.maximum(tl.load(parts + 4 * part), 0)
            x = own_states + tl.load(parts + 4 * part + 1) * size
            y = own_states + tl.load(parts + 4 * part + 2) * size
            weight = tl.load(factors + 2 * part)
            own = tl.load(factors + 2 * part + 1)
            lowest = tl.load(low_row + operation)
            linked = inside & (row >= lowest) & (row < tl.where(weight != 0, tl.load(high_row + operation), 0))
            where = tl.load(base + operation) + row - lowest
            low = tl.load(pointer + where, mask=linked, other=0)
            high = tl.load(pointer + where + 1, mask=linked, other=0)
            least = tl.load(keep_low + operation)
            kept = inside & (row >= least) & (row < tl.where(own != 0, tl.load(keep_high + operation), 0))
            share = tl.load(keep + tl.load(keep_base + operation) + row - least, mask=kept, other=0.0)
            share = own * tl.where(passes, 1.0, share)
            mine = tl.load(y + at, mask=(inside & (share != 0))[:, None] & columns_there, other=0.0)
            if CHUNKED:
                first_chunk = tl.load(chunk_pointer + where, mask=linked, other=0)
                last_chunk = tl.load(chunk_pointer + where + 1, mask=linked, other=0)
                high = tl.where(last_chunk > first_chunk, low, high)
                sums = partial + (tower * messages + tl.load(parts + 4 * part + 3)).to(tl.int64) * most * WIDTH
                for n in range(tl.max(last_chunk - first_chunk, axis=0)):
                    chunk = first_chunk + n
                    there = (chunk < last_chunk)[:, None] & columns_there
                    place_of = chunk.to(tl.int64)[:, None] * WIDTH + d[None, :]
                    total += weight * tl.load(sums + place_of, mask=there, other=0.0)
            summed = tl.zeros([ROWS, D], tl.float32)
            for start in range(0, tl.max(high - low, axis=0), 4):
                entry = low + start
                a = _entry(x, columns, values, entry, high, d, WIDTH)
                b = _entry(x, columns, values, entry + 1, high, d, WIDTH)
                c = _entry(x, columns, values, entry + 2, high, d, WIDTH)
                summed += (a + b) + (c + _entry(x, columns, values, entry + 3, high, d, WIDTH))
            total += share[:, None] * mine + weight * summed
        tl.store(own_states + state * size + at, total, mask=inside[:, None] & columns_there)
