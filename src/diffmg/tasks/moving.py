"""Frozen values that hold tensors and move between devices."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

import torch
from torch import Tensor


class Movable:
    """A dataclass whose tensors, and values that hold tensors, move together."""

    def to(self, device: torch.device | str) -> Self:
        """The same value on another device."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        moved = {name: v.to(device) for name, v in values.items() if isinstance(v, Tensor) or hasattr(v, "to")}
        return replace(self, **moved)  # type: ignore[type-var]
