"""Triton kernels of Adam and of the best weights, with each slot's own settings."""

from __future__ import annotations

import triton
import triton.language as tl

# fmt: off


@triton.jit
def adam(
    p: tl.tensor, grad: tl.tensor, first: tl.tensor, second: tl.tensor, there: tl.tensor, rates: tl.tensor,
    roots: tl.tensor, decays: tl.tensor, steps: tl.tensor, size: tl.tensor, PARTS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:
    """One step of Adam with each slot's learning rate and weight decay. Grid: block of entries, part of a slot.

    Before a slot's first step its moments are zero, whatever is stored.
    """
    part = tl.program_id(1)
    if tl.load(there + part) == 1:
        slot = part // PARTS
        number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = number < size
        at = part.to(tl.int64) * size + number
        x = tl.load(p + at, mask=inside, other=0.0)
        g = tl.load(grad + at, mask=inside, other=0.0) + tl.load(decays + slot) * x
        known = inside & (tl.load(steps + slot) > 0)
        m = tl.load(first + at, mask=known, other=0.0)
        v = tl.load(second + at, mask=known, other=0.0)
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
