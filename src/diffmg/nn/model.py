"""The model of a task: one encoder per target type, and the task's head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from diffmg.core import MetaGraph, compile_program
from diffmg.engine.backend import fused
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.nn.affine import Affine
from diffmg.nn.encoder import Encoder, EncoderOptions

if TYPE_CHECKING:
    from diffmg.engine.fused import KernelMetaGraphs


class Model(nn.Module):
    """One tower per target type of the task; initial parameters depend on `seed` alone, not on the device."""

    def __init__(
        self, graph: HeteroGraph, node_types: Sequence[Sequence[str]], outputs: int, options: EncoderOptions, seed: int
    ) -> None:
        """`node_types`: for each tower, the types its programs may read; `outputs`: columns of the head, 0 for none."""
        super().__init__()
        draw = generator("cpu", seed, "parameters")
        self.towers = nn.ModuleList(Encoder(graph, types, options, draw) for types in node_types)
        self.head = Affine(options.dim, outputs, draw) if outputs else nn.Identity()
        self.to(graph.device)

    def forward(
        self,
        graph: HeteroGraph,
        metagraphs: Sequence[MetaGraph] | KernelMetaGraphs,
        weights: Sequence[Tensor] | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ...]:
        """The outputs the task scores: logits, or the representations of the two towers.

        `weights` multiplies the message of each of the meta graphs' choices; None means 1.
        """
        return tuple(self.head(z) for z in self._encode(graph, metagraphs, weights, generator))

    def _encode(
        self,
        graph: HeteroGraph,
        metagraphs: Sequence[MetaGraph] | KernelMetaGraphs,
        weights: Sequence[Tensor] | None,
        generator: torch.Generator | None,
    ) -> tuple[Tensor, ...]:
        towers: list[Encoder] = list(self.towers)  # type: ignore[arg-type]
        if fused(graph):
            from diffmg.nn.fused import encode

            return encode(towers, graph, metagraphs, weights, generator)
        given: Sequence[Tensor | None] = weights or [None] * len(towers)
        return tuple(
            tower(graph, compile_program(m), w, generator)
            for tower, m, w in zip(towers, cast(Sequence[MetaGraph], metagraphs), given, strict=True)
        )


class DerivedModel(Model):
    """The model of fixed meta graphs, called like any other model: `model(graph, generator=None)`."""

    def __init__(
        self,
        graph: HeteroGraph,
        metagraphs: Sequence[MetaGraph],
        outputs: int,
        options: EncoderOptions,
        seed: int,
        *,
        mean: bool = False,
    ) -> None:
        """`mean`: several operations on one link are averaged instead of summed."""
        super().__init__(graph, types_of(metagraphs), outputs, options, seed)
        self.metagraphs = tuple(metagraphs)
        self.averages = mean and any(len(operations) > 1 for m in metagraphs for _, operations in m.items())
        for number, metagraph in enumerate(metagraphs):
            shares = [1 / len(operations) for _, operations in metagraph.items() for _ in operations]
            self.register_buffer(f"shares_{number}", torch.tensor(shares, device=graph.device), persistent=False)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # type: ignore[override]
        """The outputs the task scores, along the meta graphs."""
        shares = [self.get_buffer(f"shares_{n}") for n in range(len(self.metagraphs))] if self.averages else None
        return super().forward(graph, self.metagraphs, shares, generator)


def types_of(metagraphs: Sequence[MetaGraph]) -> list[tuple[str, ...]]:
    """For each meta graph, the node types whose features it reads."""
    return [compile_program(m).inputs for m in metagraphs]
