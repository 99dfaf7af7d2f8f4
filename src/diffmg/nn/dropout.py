"""Dropout drawn from a given generator."""

import numpy as np
import torch
from torch import Tensor


def dropout(h: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Zero a share of the entries and scale up the rest, drawing from `generator`."""
    if not h.is_cpu:
        keep = torch.empty_like(h).bernoulli_(1 - share, generator=generator)
    else:  # four 16-bit draws from every random int64; the share is rounded to 1/65536
        bits = torch.empty(h.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None, generator=generator)
        level = round(share * 2**16) - 2**15
        kept = bits.view(torch.int16).numpy()[: h.numel()] >= level  # NumPy compares short numbers faster
        keep = torch.from_numpy(kept.view(np.uint8)).view(h.shape).to(h.dtype)
    return h * keep.div_(1 - share)
