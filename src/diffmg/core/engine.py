"""Engine switches: how sparse products are computed. Results agree up to rounding."""

from dataclasses import dataclass
from typing import Annotated, Literal

from diffmg.core.options import Bounds, Checked

Storage = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Engine(Checked):
    """Engine switches; the defaults are the fastest settings whose results differ only by rounding."""

    fused: bool = True
    """On a GPU with Triton, compute all messages into a state in one kernel, reading operations from device memory."""
    capture: bool = True
    """On a GPU, capture whole epochs once and replay them without the host."""
    storage: Storage = "float32"
    """The dtype in which states are stored; sums are always accumulated in float32."""
    columns: Annotated[int, Bounds(0)] = 0
    """Columns of the states per chunk, recomputed in the backward pass: less memory, more time; 0 for all at once."""
