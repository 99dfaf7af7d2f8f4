"""The encoder: projection per type, shared map, program, readout. Used in search and in retraining."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from diffmg.core import Program, Settings
from diffmg.graph.network import HeteroGraph
from diffmg.nn.affine import Affine
from diffmg.nn.dropout import dropout
from diffmg.nn.propagation import evaluate
from diffmg.nn.readout import Readout


class Encoder(nn.Module):
    """Turns the features of a network into representations of the program's target type.

    The settings say what it computes besides the program. A network that aggregates as they say is the caller's part.
    """

    def __init__(
        self,
        graph: HeteroGraph,
        node_types: Sequence[str],
        settings: Settings,
        generator: torch.Generator,
        *,
        depth: int = 0,
        learned_norm: bool = True,
    ) -> None:
        """`node_types`: the types whose state 0 later programs may read; `depth`: K, where all states are fused.

        The norm has a learned scale in retraining, and none in search.
        """
        super().__init__()
        self.settings = settings
        self.node_types = tuple(node_types)
        self.projections = nn.ModuleList(Affine(graph.inputs(t), settings.dim, generator) for t in self.node_types)
        if settings.shared_map and (node_types or not settings.shared_tables):
            self.shared = Affine(settings.dim, settings.dim, generator)
        beside = self._beside(graph) if settings.vectors or settings.counts else {}
        self.beside = nn.ModuleDict({name: Affine(inputs, settings.dim, generator) for name, inputs in beside.items()})
        self.readout = Readout(settings, depth, generator, learned_norm=learned_norm)

    @property
    def norm(self) -> nn.Module:
        """The norm after the last state."""
        return self.readout.norm

    def _beside(self, graph: HeteroGraph) -> dict[str, int]:
        """Inputs of the maps beside the projections: learned vectors of types with features, counts of neighbours."""
        found = {}
        for number, node_type in enumerate(self.node_types):
            if self.settings.vectors and node_type in graph.features and node_type not in graph.timed:
                found[f"vectors_{number}"] = graph.num_nodes[node_type]
            if self.settings.counts and graph.schema.into(node_type):
                found[f"counts_{number}"] = len(graph.counted(node_type))
        return found

    def rows_of_nodes(self, graph: HeteroGraph) -> dict[str, str]:
        """Parameters with a row per node, and the node type of each."""
        bare = {f"projections.{n}.weight": t for n, t in enumerate(self.node_types) if t not in graph.features}
        beside = {f"beside.vectors_{n}.weight": t for n, t in enumerate(self.node_types)}
        return bare | {name: t for name, t in beside.items() if name.split(".")[1] in self.beside}

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
        target = program.target.node_type
        wanted = {*program.inputs, *([target] if self.readout.needs_first else [])}
        inputs = {t: self.first_state(graph, t, generator) for t in sorted(wanted)}
        nothing = (graph.zeros(target, self.settings.dim),) * len(program.outputs)
        states = evaluate(program, graph, inputs, weights) if program.steps else nothing
        z: Tensor = self.readout(states, inputs.get(target), generator)
        return z

    def first_state(self, graph: HeteroGraph, node_type: str, generator: torch.Generator | None) -> Tensor:
        """State 0 of a type, (n, dim)."""
        h = self.unmapped(graph, node_type, generator)
        return self.shared(h) if self.settings.shared_map else h

    def unmapped(self, graph: HeteroGraph, node_type: str, generator: torch.Generator | None) -> Tensor:
        """State 0 of a type before the shared map, (n, dim)."""
        return self.activate(self.project(graph, node_type, generator), generator)

    def project(self, graph: HeteroGraph, node_type: str, generator: torch.Generator | None = None) -> Tensor:
        """`W_t x_t + b_t` for all nodes of a type, (n, dim), with what stands beside it."""
        number, x, mask = self.node_types.index(node_type), graph.features.get(node_type), None
        if self.training and self.settings.input_dropout > 0 and x is not None:
            ones = torch.ones(x.shape[1], device=graph.device)
            mask = dropout(ones, self.settings.input_dropout, generator)
        h: Tensor = self.projections[number](x, mask)
        if f"vectors_{number}" in self.beside:
            h = h + self.beside[f"vectors_{number}"](None)
        if f"counts_{number}" in self.beside:
            h = h + self.beside[f"counts_{number}"](graph.log_counts(node_type).to(h.dtype))
        return h

    def activate(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Tanh and dropout, where the settings have them."""
        if self.settings.tanh:
            h = torch.tanh(h)
        if self.training and self.settings.dropout > 0:
            h = dropout(h, self.settings.dropout, generator)
        return h
