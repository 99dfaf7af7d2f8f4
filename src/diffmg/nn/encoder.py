"""The encoder: projection per type, shared weight, program, norm, activation. It serves search and retraining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.graph import HeteroGraph
from diffmg.nn.affine import Affine
from diffmg.program import Cell, Product, Program, Step, Term


@dataclass(frozen=True)
class EncoderOptions:
    """Shape and switches of an encoder."""

    dim: int = 64
    norm: Literal["learned", "plain", "off"] = "learned"
    """LayerNorm after the last state: with learned scale (retraining), without (search), or none."""
    tanh: bool = False
    """Whether tanh follows the projection."""
    dropout: float = 0.0
    """Share of the projected entries dropped while training."""


class Encoder(nn.Module):
    """Turns the features of a network into representations of the program's target type."""

    def __init__(
        self,
        graph: HeteroGraph,
        node_types: Sequence[str],
        options: EncoderOptions,
        generator: torch.Generator,
    ) -> None:
        """`node_types`: the types whose state 0 any program given later may need."""
        super().__init__()
        self.options = options
        self.node_types = tuple(node_types)
        self.projections = nn.ModuleList(Affine(_input_size(graph, t), options.dim, generator) for t in self.node_types)
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
        inputs = {t: self._project(graph, t, generator) for t in program.inputs}
        z = evaluate(program, graph, inputs, weights)
        if z is None:
            z = self.shared.bias.new_zeros(graph.num_nodes[program.target.node_type], self.options.dim)
        return F.gelu(self.norm(z))

    def _project(self, graph: HeteroGraph, node_type: str, generator: torch.Generator | None) -> Tensor:
        projection = self.projections[self.node_types.index(node_type)]
        h: Tensor = projection(graph.features.get(node_type))
        if self.options.tanh:
            h = torch.tanh(h)
        if self.training and self.options.dropout > 0:
            h = dropout(h, self.options.dropout, generator)
        shared: Tensor = self.shared(h)
        return shared


def evaluate(
    program: Program, graph: HeteroGraph, inputs: Mapping[str, Tensor], weights: Tensor | None = None
) -> Tensor | None:
    """Run a program on state 0, one tensor (n, d) per type; None if the target is zero whatever the input."""
    cells: dict[Cell, Tensor] = {Cell(0, t): h for t, h in inputs.items()}
    for step in program.steps:
        cells[step.cell] = _run(step, graph, cells, weights)
    return cells.get(program.target)


def dropout(h: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Zero a share of the entries and scale up the rest, drawing from `generator`."""
    keep = torch.empty_like(h).bernoulli_(1 - share, generator=generator)
    return h * keep.div_(1 - share)


def _run(step: Step, graph: HeteroGraph, cells: Mapping[Cell, Tensor], weights: Tensor | None) -> Tensor:
    parts = [_message(product, step.cell.node_type, graph, cells, weights) for product in step.products]
    if step.passed:
        parts.append(_combine(step.passed, step.cell.node_type, cells, weights))
    return _sum(parts)


def _message(
    product: Product, node_type: str, graph: HeteroGraph, cells: Mapping[Cell, Tensor], weights: Tensor | None
) -> Tensor:
    propagation = graph.propagation[product.relation]
    message = propagation.matrix @ _combine(product.terms, product.relation.source, cells, weights)
    if propagation.keep is None:
        return message
    return message + propagation.keep * _combine(product.terms, node_type, cells, weights)


def _combine(terms: Sequence[Term], node_type: str, cells: Mapping[Cell, Tensor], weights: Tensor | None) -> Tensor:
    rows = [(cells[Cell(term.state, node_type)], term.weight) for term in terms]
    return _sum([h if weights is None else weights[w] * h for h, w in rows])


def _sum(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _input_size(graph: HeteroGraph, node_type: str) -> int:
    features = graph.features.get(node_type)
    return graph.num_nodes[node_type] if features is None else features.shape[1]
