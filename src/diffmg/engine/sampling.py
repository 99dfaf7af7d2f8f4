"""Sampling meta graphs on the device: candidate numbers become operation numbers without a copy to the host."""

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

    links: KernelLinks
    operations: tuple[Tensor, ...]
    """Per tower (links, most candidates): operation numbers."""

    @classmethod
    def of(cls, spaces: Sequence[SearchSpace], graph: HeteroGraph) -> DeviceSpaces:
        """Pack the spaces for the fused kernels."""
        from diffmg.engine.fused import KernelLinks
        from diffmg.engine.layout import kernel_tables

        tables = kernel_tables(graph)
        links = KernelLinks.of(links_of(spaces[0].depth), [s.target for s in spaces], tables)
        operations = []
        for space in spaces:
            width = max(map(len, space.candidates))
            rows = [[tables.numbers[c] for c in row] + [0] * (width - len(row)) for row in space.candidates]
            operations.append(torch.tensor(rows, device=graph.device))
        return cls(links, tuple(operations))

    def metagraphs(self, picks: Sequence[Tensor]) -> KernelMetaGraphs:
        """The sampled meta graphs, from the number of each link's picked candidate."""
        from diffmg.engine.fused import KernelMetaGraphs

        rows = [t.gather(1, p.unsqueeze(1)).squeeze(1) for t, p in zip(self.operations, picks, strict=True)]
        return KernelMetaGraphs(self.links, torch.stack(rows))
