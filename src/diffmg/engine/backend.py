"""The backend: how products are computed, chosen once from the device and the engine's switches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import torch

from diffmg.core import Engine
from diffmg.engine.device import on_host
from diffmg.graph.network import HeteroGraph

MOST_TYPES = 63
"""The kernels keep sets of node types as the bits of a 64-bit number."""


@dataclass(frozen=True)
class Backend:
    """What a device and the engine's switches allow; the package asks this instead of checking the device."""

    device: torch.device
    engine: Engine

    @classmethod
    def of(cls, graph: HeteroGraph) -> Backend:
        """The backend of a network: its device, its switches."""
        return cls(graph.device, graph.engine)

    @property
    def accelerated(self) -> bool:
        """Whether it computes on an accelerator, where reading a value back costs a synchronisation."""
        return not on_host(self.device)

    @property
    def captures(self) -> bool:
        """Whether whole epochs are captured once and replayed without the host's help."""
        return self.engine.capture and self.accelerated

    @property
    def state_bytes(self) -> int:
        """Bytes per entry of a stored state."""
        return 2 if self.engine.storage == "bfloat16" and self.accelerated else 4

    @property
    def has_kernels(self) -> bool:
        """Whether fused kernels can run here at all."""
        return self.engine.fused and self.accelerated and _triton()


def fused(graph: HeteroGraph) -> bool:
    """Whether this network uses the fused kernels; otherwise it uses plain torch, with the same results."""
    return Backend.of(graph).has_kernels and len(graph.schema.node_types) <= MOST_TYPES


@cache
def _triton() -> bool:
    return find_spec("triton") is not None
