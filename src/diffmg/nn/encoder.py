"""The encoder: projection per type, shared weight, program, norm, activation. Used in search and in retraining."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import Program
from diffmg.graph.network import HeteroGraph
from diffmg.nn.affine import Affine
from diffmg.nn.propagation import evaluate


@dataclass(frozen=True)
class EncoderOptions:
    """Shape and switches of an encoder."""

    dim: int = 64
    norm: Literal["learned", "plain", "off"] = "learned"
    """LayerNorm after the last state: with learned scale (retraining), without (search), or none."""
    tanh: bool = False
    """Whether tanh follows the projection."""
    dropout: float = 0.0
    """Dropout rate of the projected entries."""


class Encoder(nn.Module):
    """Turns the features of a network into representations of the program's target type."""

    def __init__(
        self, graph: HeteroGraph, node_types: Sequence[str], options: EncoderOptions, generator: torch.Generator
    ) -> None:
        """`node_types`: the types whose state 0 later programs may read."""
        super().__init__()
        self.options = options
        self.node_types = tuple(node_types)
        self.projections = nn.ModuleList(Affine(graph.inputs(t), options.dim, generator) for t in self.node_types)
        self.shared = Affine(options.dim, options.dim, generator)
        affine = options.norm == "learned"
        self.norm = nn.Identity() if options.norm == "off" else nn.LayerNorm(options.dim, elementwise_affine=affine)

    def forward(
        self,
        graph: HeteroGraph,
        program: Program,
        weights: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Representations (n_target, dim).

        `weights` multiplies the message of each of the meta graph's choices; None means 1.
        `generator` draws the dropout; it is needed only while training with dropout.
        """
        inputs = {t: self.shared(self.activate(self.project(graph, t), generator)) for t in program.inputs}
        z = evaluate(program, graph, inputs, weights)
        if z is None:
            z = self.shared.bias.new_zeros(graph.num_nodes[program.target.node_type], self.options.dim)
        return self.finish(z)

    def project(self, graph: HeteroGraph, node_type: str) -> Tensor:
        """`W_t x_t + b_t` for all nodes of a type, (n, dim)."""
        h: Tensor = self.projections[self.node_types.index(node_type)](graph.features.get(node_type))
        return h

    def activate(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Tanh and dropout, where the options have them."""
        if self.options.tanh:
            h = torch.tanh(h)
        if self.training and self.options.dropout > 0:
            h = dropout(h, self.options.dropout, generator)
        return h

    def finish(self, z: Tensor) -> Tensor:
        """Norm and activation after the last state."""
        return F.gelu(self.norm(z))


def dropout(h: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Zero a share of the entries and scale up the rest, drawing from `generator`."""
    if not h.is_cpu:
        keep = torch.empty_like(h).bernoulli_(1 - share, generator=generator)
    else:  # four 16-bit draws from every random int64; the share is rounded to 1/65536
        bits = torch.empty(h.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None, generator=generator)
        level = round(share * 2**16) - 2**15
        keep = (bits.view(torch.int16)[: h.numel()] >= level).view(h.shape).to(h.dtype)
    return h * keep.div_(1 - share)
