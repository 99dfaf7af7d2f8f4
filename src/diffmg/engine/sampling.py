"""Samples of a search that never leave the device: candidates by number, turned into operations there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffmg.core import SearchSpace
from diffmg.core.metagraph import links_of
from diffmg.graph.network import HeteroGraph

if TYPE_CHECKING:
    from diffmg.engine.fused import KernelLinks, KernelMetaGraphs


@dataclass(frozen=True)
class DeviceSpaces:
    """The search spaces of all towers in device memory."""

    wiring: KernelLinks
    operations: tuple[Tensor, ...]
    """Per tower (links, most candidates): operation numbers."""

    @classmethod
    def of(cls, spaces: Sequence[SearchSpace], graph: HeteroGraph) -> DeviceSpaces:
        """Lay the spaces out for the fused kernels."""
        from diffmg.engine.fused import KernelLinks
        from diffmg.engine.layout import kernel_tables

        stack = kernel_tables(graph)
        wiring = KernelLinks.of(links_of(spaces[0].depth), [s.target for s in spaces], stack)
        tables = []
        for space in spaces:
            most = max(map(len, space.candidates))
            rows = [[stack.numbers[c] for c in row] + [0] * (most - len(row)) for row in space.candidates]
            tables.append(torch.tensor(rows, device=graph.device))
        return cls(wiring, tuple(tables))

    def wired(self, picks: Sequence[Tensor]) -> KernelMetaGraphs:
        """The sampled meta graphs, from the number of each link's candidate."""
        from diffmg.engine.fused import KernelMetaGraphs

        rows = [t.gather(1, p.unsqueeze(1)).squeeze(1) for t, p in zip(self.operations, picks, strict=True)]
        return KernelMetaGraphs(self.wiring, torch.stack(rows))
