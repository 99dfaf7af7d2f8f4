"""How the cost of a search grows with the network: seconds per epoch and peak memory on synthetic data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from benchmarks.engine import DEPTH
from benchmarks.measure import JobRunner, alternate, peak_bytes, size_of, summary
from diffmg.core.errors import DiffmgError
from diffmg.core.options import check_rules, check_types
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset, parse_name
from diffmg.methods.search.diffmg import DiffMG

LAST = 3
"""Number of largest sizes used to fit the last exponent."""


@dataclass(frozen=True)
class GrowthOptions:
    """How much is measured at each size."""

    epochs: int = 10
    """Timed epochs."""
    warm_up: int = 2
    """Warm-up epochs, not timed."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"epochs >= 1": self.epochs >= 1, "warm_up >= 0": self.warm_up >= 0})


def checked_sizes(data: str, sizes: Sequence[str]) -> list[int]:
    """Sizes as integers, smallest first; `1e5` is accepted."""
    if ":" in data or "@" in data:
        raise DiffmgError(f"growth needs the name of made data without a size, but got {data!r}; sizes are apart")
    numbers = sorted({parse_name(f"{data}:{size}").size or 0 for size in sizes})
    if not numbers:
        raise DiffmgError(f"growth needs one or more sizes, but got {len(numbers)}")
    return numbers


def measure_size(data: str, size: int, device: torch.device, options: GrowthOptions) -> dict[str, Any]:
    """A search on synthetic data of one size, with the same seed at every size."""
    problem = load_dataset(f"{data}:{size}").to(device)

    def start() -> JobRunner:
        """A search that can be timed."""
        return JobRunner(
            lambda seed: DiffMG(depth=DEPTH).search(problem, Settings(), seed), options.seed, options.warm_up
        )

    (blocks,) = alternate([start()], options.epochs, 1, device)
    return {"size": size, **size_of(problem), **summary(blocks), "peak_bytes": peak_bytes(start, device)}


def exponents(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Log-log slopes over edges, 1 being linear: between consecutive sizes, and fitted over the last ones."""
    return {name: _slopes(points, key) for name, key in (("seconds", "median"), ("peak_bytes", "peak_bytes"))}


def _slopes(points: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    known = [p for p in points if p[key]]
    return {"between": [_slope(pair, key) for pair in pairwise(known)], "last": _slope(known[-LAST:], key)}


def _slope(points: Sequence[dict[str, Any]], key: str) -> float | None:
    if len({p["edges"] for p in points}) < 2:
        return None
    x, y = (np.log([p[name] for p in points]) for name in ("edges", key))
    return float(np.polyfit(x, y, 1)[0])
