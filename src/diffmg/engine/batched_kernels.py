"""Triton kernels of many trainings at once: dropout masks, state 0 and readout with a slot axis.

A slot holds one candidate; tower t of slot c has number `c * TOWERS + t`. Switches are read from device memory, so one
captured epoch serves any candidates of the same shape.
"""

from __future__ import annotations

import triton
import triton.language as tl

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
    threads = tl.maximum(tl.load(draws + draw + 2), 1).to(tl.uint32)
    number = (tl.program_id(0) * BLOCK).to(tl.uint32) + tl.arange(0, BLOCK).to(tl.uint32)
    turn = number // threads
    if tl.min(turn.to(tl.int64), axis=0) * 4 * threads < count:
        thread = number - turn * threads
        place = tl.load(draws + draw + 3) + tl.load(steps + slot).to(tl.int64) * tl.load(increments + slot) + turn
        zero = thread * 0
        a, b, c, d = tl.philox(
            tl.load(seeds + slot), (place & 0xFFFFFFFF).to(tl.uint32), (place >> 32).to(tl.uint32), thread, zero,
        )
        level = tl.load(levels + slot)
        at = keep + slot.to(tl.int64) * size + tl.load(draws + draw)
        entry = turn.to(tl.int64) * 4 * threads + thread
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
def _load_square(weight: tl.tensor, owned: tl.tensor, d: tl.tensor, WIDTH: tl.constexpr) -> tl.tensor:
    inside = (d < WIDTH)[:, None] & (d < WIDTH)[None, :]
    return tl.load(weight + (owned * WIDTH + d[:, None]) * WIDTH + d[None, :], mask=inside, other=0.0)


@triton.jit
def first_state(
    source: tl.tensor, offset: tl.tensor, weight: tl.tensor, bias: tl.tensor, keep: tl.tensor, out: tl.tensor,
    owner: tl.tensor, live: tl.tensor, tanh: tl.tensor, mapped: tl.tensor, scales: tl.tensor,
    rows: tl.tensor, first: tl.tensor, nodes: tl.tensor, states: tl.tensor,
    TOWERS: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
) -> None:
    """State 0 of one type: projection plus bias, tanh, dropout, shared map. Grid: rows, tower of a slot.

    `out` has all states of each tower, of which there are `states`.
    """
    tower = tl.program_id(1)
    slot = tower // TOWERS
    if tl.load(live + tower) == 1:
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        d = tl.arange(0, D)
        there = (row < rows)[:, None] & (d < WIDTH)[None, :]
        owned = (slot * TOWERS + tl.load(owner + tower)).to(tl.int64)
        x = tl.load(source + (owned * rows + row[:, None]) * WIDTH + d[None, :], mask=there, other=0.0)
        x += tl.load(offset + owned * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
        if tl.load(tanh + slot) == 1:
            x = _tanh(x)
        if DROP:
            scale = tl.load(scales + slot)
            if scale > 0:
                kept = tl.load(keep + (owned * nodes + first + row[:, None]) * WIDTH + d[None, :], mask=there, other=0)
                x *= kept.to(tl.float32) * scale
        if tl.load(mapped + slot) == 1:
            x = tl.dot(x, _load_square(weight, owned, d, WIDTH), input_precision="tf32x3")
            x += tl.load(bias + owned * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
        tl.store(out + (tower.to(tl.int64) * states * nodes + first + row[:, None]) * WIDTH + d[None, :], x, mask=there)


@triton.jit
def first_state_backward(
    source: tl.tensor, offset: tl.tensor, weight: tl.tensor, keep: tl.tensor, grad: tl.tensor, out: tl.tensor,
    sums: tl.tensor, squares: tl.tensor, owner: tl.tensor, live: tl.tensor, present: tl.tensor, tanh: tl.tensor,
    mapped: tl.tensor, scales: tl.tensor, rows: tl.tensor, first: tl.tensor, nodes: tl.tensor, states: tl.tensor,
    first_block: tl.tensor, blocks: tl.tensor,
    TOWERS: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, SPAN: tl.constexpr,
    DROP: tl.constexpr,
) -> None:
    """Gradients of one type's projections, summed over the towers that read them. Grid: span of rows, owning tower.

    Each block's shares of the gradients of shared map (`squares`), its bias and the projection's bias (`sums`).
    """
    owned = tl.program_id(1)
    slot = owned // TOWERS
    d = tl.arange(0, D)
    square = tl.zeros([D, D], tl.float32)
    for_bias = tl.zeros([D], tl.float32)
    for_offset = tl.zeros([D], tl.float32)
    low = tl.program_id(0) * SPAN
    long = owned.to(tl.int64)
    if tl.load(present + owned) == 1:
        shift = tl.load(offset + long * WIDTH + d, mask=d < WIDTH, other=0.0)[None, :]
        inside = (d < WIDTH)[:, None] & (d < WIDTH)[None, :]
        turned = tl.load(weight + (long * WIDTH + d[None, :]) * WIDTH + d[:, None], mask=inside, other=0.0)
        squashed = tl.load(tanh + slot)
        through_map = tl.load(mapped + slot)
        scale = tl.load(scales + slot)
        for start in range(low, tl.minimum(low + SPAN, rows), ROWS):
            row = start + tl.arange(0, ROWS)
            there = (row < rows)[:, None] & (d < WIDTH)[None, :]
            g = tl.zeros([ROWS, D], tl.float32)
            for t in tl.static_range(TOWERS):
                tower = slot * TOWERS + t
                reads = tl.where(tl.load(owner + tower) == owned % TOWERS, tl.load(live + tower), 0)
                if reads == 1:
                    at = (tower.to(tl.int64) * states * nodes + first + row[:, None]) * WIDTH + d[None, :]
                    g += tl.load(grad + at, mask=there, other=0.0)
            at = (long * rows + row[:, None]) * WIDTH + d[None, :]
            x = tl.load(source + at, mask=there, other=0.0) + tl.where(there, shift, 0.0)
            slope = tl.zeros([ROWS, D], tl.float32) + 1
            if squashed == 1:
                x = _tanh(x)
                slope = 1 - x * x
            if DROP:  # noqa: SIM102  (known when the kernel is compiled)
                if scale > 0:
                    mask = (long * nodes + first + row[:, None]) * WIDTH + d[None, :]
                    factor = tl.load(keep + mask, mask=there, other=0).to(tl.float32) * scale
                    x *= factor
                    slope *= factor
            if through_map == 1:
                square += tl.dot(tl.trans(x), g, input_precision="tf32x3")
                for_bias += tl.sum(g, axis=0)
                g = tl.dot(g, turned, input_precision="tf32x3")
            g *= slope
            for_offset += tl.sum(g, axis=0)
            tl.store(out + at, g, mask=there)
    block = long * blocks + first_block + tl.program_id(0)
    tl.store(sums + 2 * block * WIDTH + d, for_bias, mask=d < WIDTH)
    tl.store(sums + (2 * block + 1) * WIDTH + d, for_offset, mask=d < WIDTH)
    inside = (d < WIDTH)[:, None] & (d < WIDTH)[None, :]
    tl.store(squares + (block * WIDTH + d[:, None]) * WIDTH + d[None, :], square, mask=inside)


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
