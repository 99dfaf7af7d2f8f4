"""How products are computed: the switches of the engine. The results are the same within rounding."""

from dataclasses import dataclass
from typing import Annotated, Literal

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
