"""The model that a search trains: one encoder per target type, along meta graphs that change, and the task's head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from diffmg.core import MetaGraph, Settings, compile_program
from diffmg.engine.backend import fused
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.nn.affine import Affine
from diffmg.nn.encoder import Encoder

if TYPE_CHECKING:
    from diffmg.engine.fused import KernelMetaGraphs


class Model(nn.Module):
    """One tower per target type of the task; initial parameters depend on `seed` alone, not on the device."""

    def __init__(
        self,
        graph: HeteroGraph,
        node_types: Sequence[Sequence[str]],
        outputs: int,
        settings: Settings,
        seed: int,
        *,
        learned_norm: bool = True,
        depths: Sequence[int] = (0, 0),
    ) -> None:
        """`node_types`: for each tower, the types its programs may read; `outputs`: columns of the head, 0 for none.

        `depths`: K of each tower's meta graph, for settings that fuse all states.
        """
        super().__init__()
        draw = generator("cpu", seed, "parameters")
        self.settings = settings
        self.towers = nn.ModuleList(
            Encoder(graph, types, settings, draw, depth=depth, learned_norm=learned_norm)
            for types, depth in zip(node_types, depths, strict=False)
        )
        self.head = Affine(settings.dim, outputs, draw) if outputs else nn.Identity()
        self.to(graph.device)

    @property
    def encoders(self) -> list[Encoder]:
        """The towers."""
        return list(self.towers)  # type: ignore[arg-type]

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
        if fused(graph):
            from diffmg.nn.fused import encode

            return encode(self.encoders, graph, metagraphs, weights, generator)
        given: Sequence[Tensor | None] = weights or [None] * len(self.towers)
        return tuple(
            tower(graph, compile_program(m), w, generator)
            for tower, m, w in zip(self.towers, cast(Sequence[MetaGraph], metagraphs), given, strict=True)
        )
