"""Adam and best weights of many trainings at once, with each slot's own settings."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from diffmg.engine import batched_update_kernels as kernels
from diffmg.engine.batched_slots import Slots

ENTRIES = 1024
"""Parameters of a block."""


def adam_step(slots: Slots, name: str, tensors: Sequence[Tensor], rates: Tensor, roots: Tensor) -> None:
    """Adam on one parameter of every slot, in place: parameter, gradient, first and second moment."""
    there = slots[f"there.{name}"]
    size = tensors[0].numel() // there.numel()
    kernels.adam[(-(-size // ENTRIES), there.numel())](
        *tensors, there, rates, roots, slots["decay"], slots["step"], size,
        PARTS=there.numel() // len(there), BLOCK=ENTRIES, num_warps=4,
    )  # fmt: skip


def keep_better(slots: Slots, name: str, parameter: Tensor, best: Tensor, better: Tensor) -> None:
    """Copy a parameter of the slots that are better."""
    there = slots[f"there.{name}"]
    size = parameter.numel() // there.numel()
    kernels.keep_better[(-(-size // ENTRIES), there.numel())](
        parameter, best, there, better, size, PARTS=there.numel() // len(there), BLOCK=ENTRIES, num_warps=4
    )
