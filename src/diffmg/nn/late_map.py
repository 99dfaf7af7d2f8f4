"""The shared map behind the propagation instead of before it: the same, since both are linear, on fewer rows."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

import torch
from torch import Tensor

from diffmg.core import Program
from diffmg.graph.network import HeteroGraph
from diffmg.nn.propagation import evaluate


class LateMap:
    """`P(h W + 1 b) = P(h) W + P(1) b` for a propagation P; P(1), its *reach*, is computed once for a network."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.programs = tuple(programs)
        self.known: tuple[ref[HeteroGraph], list[Tensor]] | None = None

    def reach(self, graph: HeteroGraph, weights: Sequence[Tensor] | None) -> list[Tensor]:
        """The last state of each program if state 0 is 1 everywhere, (n_target, 1).

        `weights` multiplies the message of each choice; they are the same in all calls.
        """
        if self.known is None or self.known[0]() is not graph:
            each: Sequence[Tensor | None] = weights or [None] * len(self.programs)
            found = [_reach(program, graph, w) for program, w in zip(self.programs, each, strict=True)]
            self.known = ref(graph), found
        return self.known[1]


@torch.no_grad()
def _reach(program: Program, graph: HeteroGraph, weights: Tensor | None) -> Tensor:
    ones = {t: graph.zeros(t, 1) + 1 for t in program.inputs}
    return evaluate(program, graph, ones, weights)[-1]
