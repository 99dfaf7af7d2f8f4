"""Samples of a search that never leave the device: candidates by number, turned into operations there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffmg.graph import HeteroGraph
from diffmg.metagraph import links_of
from diffmg.space import SearchSpace

if TYPE_CHECKING:
    from diffmg.gpu.propagation import Wired, Wiring


@dataclass(frozen=True)
class OnDevice:
    """The search spaces of all towers in device memory."""

    wiring: Wiring
    operations: tuple[Tensor, ...]
    """Per tower (links, most candidates): operation numbers."""

    @classmethod
    def of(cls, spaces: Sequence[SearchSpace], graph: HeteroGraph) -> OnDevice:
        """Lay the spaces out for the fused kernels."""
        from diffmg.gpu.propagation import Wiring
        from diffmg.gpu.tables import stack_of

        stack = stack_of(graph)
        wiring = Wiring.of(links_of(spaces[0].depth), [s.target for s in spaces], stack)
        tables = []
        for space in spaces:
            most = max(map(len, space.candidates))
            rows = [[stack.numbers[c] for c in row] + [0] * (most - len(row)) for row in space.candidates]
            tables.append(torch.tensor(rows, device=graph.device))
        return cls(wiring, tuple(tables))

    def wired(self, picks: Sequence[Tensor]) -> Wired:
        """The sampled meta graphs, from the number of each link's candidate."""
        from diffmg.gpu.propagation import Wired

        rows = [t.gather(1, p.unsqueeze(1)).squeeze(1) for t, p in zip(self.operations, picks, strict=True)]
        return Wired(self.wiring, torch.stack(rows))
