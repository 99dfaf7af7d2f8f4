"""Triton kernels of many trainings at once: a slot axis through projection, readout, pair scores and Adam.

A slot holds one candidate; tower t of slot c has number `c * TOWERS + t`. Switches are read from device memory, so one
captured epoch serves any candidates of the same shape.
"""

from __future__ import annotations

import triton
import triton.language as tl

from diffmg.engine.kernels import _sum_chunks, _sum_entries

# fmt: off


@triton.jit
def draw_masks(
    keep: tl.tensor, draws: tl.tensor, seeds: tl.tensor, steps: tl.tensor, increments: tl.tensor, levels: tl.tensor,
    size: tl.tensor, DRAWS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """Masks of a dropout, 1 to keep, with the numbers that torch's own `bernoulli_` draws on a GPU.

    Each draw of a slot is a range of its mask: first entry, number of entries, threads of torch's kernel, and the
    generator's position within the epoch. Grid: block of threads, draw, slot.
    """
    slot = tl.program_id(2)
    draw = (slot * DRAWS + tl.program_id(1)) * 4
    count = tl.load(draws + draw + 1)
    threads = tl.load(draws + draw + 2)
    number = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    turn = number // tl.maximum(threads, 1)
    if tl.program_id(0).to(tl.int64) * BLOCK // tl.maximum(threads, 1) * 4 * threads < count:
        thread = number % threads
        place = tl.load(draws + draw + 3) + tl.load(steps + slot).to(tl.int64) * tl.load(increments + slot) + turn
        zero = thread * 0
        a, b, c, d = tl.philox(
            tl.load(seeds + slot), (place & 0xFFFFFFFF).to(tl.uint32), (place >> 32).to(tl.uint32),
            thread.to(tl.uint32), zero.to(tl.uint32),
        )
        level = tl.load(levels + slot)
        at = keep + slot.to(tl.int64) * size + tl.load(draws + draw)
        entry = turn * 4 * threads + thread
        _store_mask(at, entry, a, level, count)
        _store_mask(at, entry + threads, b, level, count)
        _store_mask(at, entry + 2 * threads, c, level, count)
        _store_mask(at, entry + 3 * threads, d, level, count)


@triton.jit
def _store_mask(keep: tl.tensor, entry: tl.tensor, bits: tl.tensor, level: tl.tensor, count: tl.tensor) -> None:
    uniform = bits.to(tl.float32) * 2.3283064365386963e-10 + 1.1641532182693481e-10
    tl.store(keep + entry, (uniform < level).to(tl.uint8), mask=entry < count)


@triton.jit
def _tanh(x: tl.tensor) -> tl.tensor:
    return 1 - 2 / (tl.exp(2 * x) + 1)


@triton.jit
def project(
    source: tl.tensor, bias: tl.tensor, keep: tl.tensor, out: tl.tensor, owner: tl.tensor, live: tl.tensor,
    tanh: tl.tensor, scales: tl.tensor, rows: tl.tensor, first: tl.tensor, nodes: tl.tensor,
    TOWERS: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
) -> None:
    """Rows of one type before the shared map: projection plus bias, tanh, dropout. Grid: rows, tower of a slot."""
    tower = tl.program_id(1)
    slot = tower // TOWERS
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    there = (row < rows)[:, None] & (d < WIDTH)[None, :]
    x = tl.zeros([ROWS, D], tl.float32)
    if tl.load(live + tower) == 1:
        owned = (slot * TOWERS + tl.load(owner + tower)).to(tl.int64)
        x = tl.load(source + (owned * rows + row[:, None]) * WIDTH + d[None, :], mask=there, other=0.0)
        x += tl.load(bias + owned * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
        if tl.load(tanh + slot) == 1:
            x = _tanh(x)
        if DROP:
            scale = tl.load(scales + slot)
            if scale > 0:
                kept = tl.load(keep + (owned * nodes + first + row[:, None]) * WIDTH + d[None, :], mask=there, other=0)
                x *= kept.to(tl.float32) * scale
    at = (tower.to(tl.int64) * nodes + first + row[:, None]) * WIDTH + d[None, :]
    tl.store(out + at, x, mask=there)


@triton.jit
def project_backward(
    source: tl.tensor, bias: tl.tensor, keep: tl.tensor, grad: tl.tensor, out: tl.tensor, sums: tl.tensor,
    owner: tl.tensor, live: tl.tensor,
    tanh: tl.tensor, scales: tl.tensor, rows: tl.tensor, first: tl.tensor, nodes: tl.tensor,
    TOWERS: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
) -> None:
    """Gradient of one type's projections, summed over the towers that read them. Grid: rows, owning tower of a slot.

    `sums` gets each block's column sums: their total is the gradient of the bias.
    """
    owned = tl.program_id(1)
    slot = owned // TOWERS
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    there = (row < rows)[:, None] & (d < WIDTH)[None, :]
    g = tl.zeros([ROWS, D], tl.float32)
    for t in tl.static_range(TOWERS):
        tower = slot * TOWERS + t
        if (tl.load(live + tower) == 1) & (tl.load(owner + tower) == owned % TOWERS):
            at = (tower.to(tl.int64) * nodes + first + row[:, None]) * WIDTH + d[None, :]
            g += tl.load(grad + at, mask=there, other=0.0)
    at = (owned.to(tl.int64) * rows + row[:, None]) * WIDTH + d[None, :]
    if DROP:
        scale = tl.load(scales + slot)
        if scale > 0:
            mask = (owned.to(tl.int64) * nodes + first + row[:, None]) * WIDTH + d[None, :]
            g *= tl.load(keep + mask, mask=there, other=0).to(tl.float32) * scale
    if tl.load(tanh + slot) == 1:
        x = tl.load(source + at, mask=there, other=0.0)
        x += tl.load(bias + owned.to(tl.int64) * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
        y = _tanh(x)
        g *= 1 - y * y
    tl.store(out + at, g, mask=there)
    part = (owned.to(tl.int64) * tl.num_programs(0) + tl.program_id(0)) * WIDTH
    tl.store(sums + part + d, tl.sum(g, axis=0), mask=d < WIDTH)


@triton.jit
def read_out(
    x: tl.tensor, scale: tl.tensor, shift: tl.tensor, norm: tl.tensor, activation: tl.tensor, grad: tl.tensor,
    out: tl.tensor, sums: tl.tensor, rows: tl.tensor, slot_stride: tl.tensor, tower: tl.tensor,
    TOWERS: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BACKWARD: tl.constexpr,
) -> None:
    """Norm and activation of one tower's target rows, or their gradient. Grid: rows, slot.

    Backward, `sums` gets each block's share of the gradients of scale and shift.
    """
    slot = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    there = (row < rows)[:, None] & (d < WIDTH)[None, :]
    h = tl.load(x + slot.to(tl.int64) * slot_stride + row[:, None] * WIDTH + d[None, :], mask=there, other=0.0)
    owned = (slot * TOWERS + tower).to(tl.int64) * WIDTH + d
    gamma = tl.load(scale + owned, mask=d < WIDTH, other=0.0)
    beta = tl.load(shift + owned, mask=d < WIDTH, other=0.0)
    normed = tl.load(norm + slot) == 1
    mean = tl.sum(h, axis=1) / WIDTH
    centred = tl.where(there, h - mean[:, None], 0.0)
    inverse = 1 / tl.sqrt(tl.sum(centred * centred, axis=1) / WIDTH + 1e-5)
    hat = centred * inverse[:, None]
    y = tl.where(normed, hat * gamma[None, :] + beta[None, :], h)
    kind = tl.load(activation + slot)
    share = 0.5 * (1 + tl.erf(y * 0.7071067811865476))
    at = (slot.to(tl.int64) * rows + row[:, None]) * WIDTH + d[None, :]
    if BACKWARD:
        g = tl.load(grad + at, mask=there, other=0.0)
        slope = share + y * tl.exp(-0.5 * y * y) * 0.3989422804014327
        g *= tl.where(kind == 2, slope, tl.where((kind == 1) & (y <= 0), 0.0, 1.0))
        part = ((slot * tl.num_programs(0) + tl.program_id(0)) * 2).to(tl.int64) * WIDTH
        tl.store(sums + part + d, tl.sum(g * hat, axis=0), mask=d < WIDTH)
        tl.store(sums + part + WIDTH + d, tl.sum(g, axis=0), mask=d < WIDTH)
        scaled = g * gamma[None, :]
        level = tl.sum(scaled, axis=1) / WIDTH
        slant = tl.sum(scaled * hat, axis=1) / WIDTH
        through = (scaled - level[:, None] - hat * slant[:, None]) * inverse[:, None]
        tl.store(out + at, tl.where(normed, through, g), mask=there)
    else:
        z = tl.where(kind == 2, y * share, tl.where((kind == 1) & (y <= 0), 0.0, y))
        tl.store(out + at, z, mask=there)


@triton.jit
def pair_scores(
    left: tl.tensor, right: tl.tensor, left_bias: tl.tensor, right_bias: tl.tensor, pointer: tl.tensor,
    columns: tl.tensor, signs: tl.tensor, shares: tl.tensor, out: tl.tensor, grad: tl.tensor, bias_grad: tl.tensor,
    n_left: tl.tensor, n_right: tl.tensor, pairs: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, BIASED: tl.constexpr, GRADIENT: tl.constexpr,
) -> None:
    """Scores of the pairs of one left row; or the loss's gradient by each score, and with it that of the left row.

    Grid: left row, slot.
    """
    row = tl.program_id(0)
    slot = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    mine = tl.load(left + (slot * n_left + row) * WIDTH + d, mask=d < WIDTH, other=0.0)
    high = tl.load(pointer + row + 1)
    total = tl.zeros([BLOCK, D], tl.float32)
    slopes = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(pointer + row), high, BLOCK):
        entry = start + tl.arange(0, BLOCK)
        there = entry < high
        column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
        inside = there[:, None] & (d < WIDTH)[None, :]
        other = tl.load(right + (slot * n_right + column[:, None]) * WIDTH + d[None, :], mask=inside, other=0.0)
        score = tl.sum(other * mine[None, :], axis=1)
        if BIASED:
            score += tl.load(left_bias + slot * n_left + row)
            score += tl.load(right_bias + slot * n_right + column, mask=there, other=0.0)
        if GRADIENT:
            sign = tl.load(signs + entry, mask=there, other=0.0)
            share = tl.load(shares + entry, mask=there, other=0.0)
            slope = -share * sign / (1 + tl.exp(sign * score))
            total += slope[:, None] * other
            slopes += slope
            score = slope
        tl.store(out + slot * pairs + entry, score, mask=there)
    if GRADIENT:
        tl.store(grad + (slot * n_left + row) * WIDTH + d, tl.sum(total, axis=0), mask=d < WIDTH)
        if BIASED:
            tl.store(bias_grad + slot * n_left + row, tl.sum(slopes, axis=0))


@triton.jit
def sum_rows(
    x: tl.tensor, values: tl.tensor, order: tl.tensor, pointer: tl.tensor, columns: tl.tensor, out: tl.tensor,
    sums: tl.tensor, n: tl.tensor, columns_n: tl.tensor, entries: tl.tensor,
    WIDTH: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, OWN: tl.constexpr,
) -> None:
    """Σ values * x[columns] of one row of a sparse matrix, for every slot. Grid: row, slot.

    With OWN each slot has its own values, read in `order`, and `sums` gets the sum of each row's values.
    """
    row = tl.program_id(0)
    slot = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    high = tl.load(pointer + row + 1)
    total = tl.zeros([BLOCK, D], tl.float32)
    alone = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(pointer + row), high, BLOCK):
        entry = start + tl.arange(0, BLOCK)
        there = entry < high
        column = tl.load(columns + entry, mask=there, other=0).to(tl.int64)
        if OWN:
            place = tl.load(order + entry, mask=there, other=0).to(tl.int64)
            value = tl.load(values + slot * entries + place, mask=there, other=0.0)
            alone += value
        else:
            value = tl.load(values + entry, mask=there, other=0.0)
        inside = there[:, None] & (d < WIDTH)[None, :]
        rows = tl.load(x + (slot * columns_n + column[:, None]) * WIDTH + d[None, :], mask=inside, other=0.0)
        total += value[:, None] * rows
    tl.store(out + (slot * n + row) * WIDTH + d, tl.sum(total, axis=0), mask=d < WIDTH)
    if OWN:
        tl.store(sums + slot * n + row, tl.sum(alone, axis=0))


@triton.jit
def adam(
    p: tl.tensor, grad: tl.tensor, first: tl.tensor, second: tl.tensor, there: tl.tensor, rates: tl.tensor,
    roots: tl.tensor, decays: tl.tensor, size: tl.tensor, PARTS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """One step of Adam with each slot's learning rate and weight decay. Grid: block of entries, part of a slot."""
    part = tl.program_id(1)
    if tl.load(there + part) == 1:
        slot = part // PARTS
        number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = number < size
        at = part.to(tl.int64) * size + number
        x = tl.load(p + at, mask=inside, other=0.0)
        g = tl.load(grad + at, mask=inside, other=0.0) + tl.load(decays + slot) * x
        m = tl.load(first + at, mask=inside, other=0.0)
        v = tl.load(second + at, mask=inside, other=0.0)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        x -= tl.load(rates + slot) * m / (tl.sqrt(v) / tl.load(roots + slot) + 1e-8)
        tl.store(p + at, x, mask=inside)
        tl.store(first + at, m, mask=inside)
        tl.store(second + at, v, mask=inside)


@triton.jit
def keep_better(
    p: tl.tensor, best: tl.tensor, there: tl.tensor, better: tl.tensor, size: tl.tensor,
    PARTS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """Copy the parameters of the slots whose epoch was their best so far. Grid: block of entries, part of a slot."""
    part = tl.program_id(1)
    if (tl.load(there + part) == 1) & (tl.load(better + part // PARTS) == 1):
        number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        at = part.to(tl.int64) * size + number
        tl.store(best + at, tl.load(p + at, mask=number < size, other=0.0), mask=number < size)


@triton.jit
def _state(first: tl.tensor, rest: tl.tensor, state: tl.tensor, tower: tl.tensor, depth: tl.tensor, size: tl.tensor) -> tl.tensor:
    """Where a tower's state begins."""
    if state == 0:
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
    """Sums of the chunks of the long rows of every message into one state. Grid: chunk, tower."""
    chunk = tl.program_id(0)
    tower = tl.program_id(1)
    place = tower * (depth + 1) + state
    size = nodes.to(tl.int64) * WIDTH
    d = tl.arange(0, D)
    for e in range(tl.load(counts + place)):
        entry = place * room + e
        operation = tl.load(entries + 3 * entry)
        wanted = tl.where(tl.load(factors + 2 * entry) != 0, tl.load(chunk_count + operation), 0)
        if chunk < wanted:
            x = _state(first, rest, tl.load(entries + 3 * entry + 1), tower, depth, size)
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
    ZERO: tl.constexpr, CHUNKED: tl.constexpr,
) -> None:
    """The computed cells of one state: what passes, plus messages. Grid: rows, tower. With ZERO other cells are zero."""
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
    if ZERO:
        dead = (row < nodes)[:, None] & columns_there & (alive[:, None] == 0)
        tl.store(out + tower * out_stride + at, tl.zeros([ROWS, D], tl.float32), mask=dead)
