"""What is special to a GPU: fused kernels, and epochs that are captured once and replayed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from diffmg.graph.network import HeteroGraph

MOST_TYPES = 63
"""The kernels keep sets of node types as the bits of a 64-bit number."""


def fused(graph: HeteroGraph) -> bool:
    """Whether the fused kernels serve this network; otherwise plain torch does, with the same results."""
    return (
        graph.engine.fused and graph.device.type == "cuda" and len(graph.schema.node_types) <= MOST_TYPES and _triton()
    )


@cache
def _triton() -> bool:
    return find_spec("triton") is not None
