"""Training labels as inputs, so that a node never hears its own."""

import torch
from torch import Tensor, nn

from diffmg.core import Program
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.nn.propagation import evaluate

COLUMNS = 64
"""Nodes whose own share is computed at once."""


class LabelInputs(nn.Module):
    """Adds a learned vector of the label to state 0 of training nodes, and takes its echo out of their later states.

    Propagation is linear: what a node's own label adds to its state k is a fixed share of that vector, computed once.
    """

    labels: Tensor
    shares: Tensor

    def __init__(
        self, graph: HeteroGraph, program: Program, labels: Tensor, dim: int, weights: Tensor | None, seed: int
    ) -> None:
        """`labels`: (n, classes) of the program's target type, zero rows for nodes whose label is not known."""
        super().__init__()
        bound = labels.shape[1] ** -0.5
        draw = generator("cpu", seed, "labels")
        self.map = nn.Parameter(torch.empty(labels.shape[1], dim).uniform_(-bound, bound, generator=draw))
        known = labels.abs().sum(dim=1).nonzero().flatten()
        self.register_buffer("labels", labels, persistent=False)
        self.register_buffer("shares", own_shares(program, graph, known, weights), persistent=False)
        self.to(graph.device)

    def forward(self) -> Tensor:
        """What is added to state 0, (n, dim)."""
        return self.labels @ self.map

    def without_own(self, states: tuple[Tensor, ...], first: Tensor | None) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """The states, and state 0, without what each node's own label adds to them."""
        own = self()
        cleaned = tuple(z - share.unsqueeze(1) * own for z, share in zip(states, self.shares, strict=True))
        return cleaned, None if first is None else first - own


@torch.no_grad()
def own_shares(program: Program, graph: HeteroGraph, nodes: Tensor, weights: Tensor | None) -> Tensor:
    """The factor with which each of these nodes hears itself in each output, (outputs, n); zero for all others."""
    target = program.target.node_type
    shares = graph.zeros(target, len(program.outputs)).T.contiguous()
    for chunk in torch.split(nodes, COLUMNS):
        inputs = {t: graph.zeros(t, len(chunk)) for t in {*program.inputs, target}}
        column = torch.arange(len(chunk), device=chunk.device)
        inputs[target][chunk, column] = 1
        for k, state in enumerate(evaluate(program, graph, inputs, weights)):
            shares[k, chunk] = state[chunk, column]
    return shares
