"""How products are computed: the switches of the engine. The results are the same within rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from diffmg.core.codec import check_names
from diffmg.core.options import Bounds, Checked

Storage = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Engine(Checked):
    """Switches of the engine; the defaults are the fastest that change nothing but rounding."""

    fused: bool = True
    """On a GPU with Triton, all messages into a state in one kernel, which reads the operations from device memory."""
    capture: bool = True
    """On a GPU, whole epochs captured once and replayed without the host."""
    storage: Storage = "float32"
    """How states are kept, from the first to the last; sums are always made in float32."""
    columns: Annotated[int, Bounds(0)] = 0
    """So many columns of the states at a time, recomputed for the backward pass: less memory, more time; 0 for all."""

    @classmethod
    def of(cls, switches: Mapping[str, Any]) -> Engine:
        """The engine with some switches changed; unknown ones raise with the nearest."""
        check_names(switches, cls, "switch of the engine:")
        return cls(**switches)
