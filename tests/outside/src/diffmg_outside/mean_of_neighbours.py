"""A method: the mean of the features of all neighbours, then a linear map."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from diffmg import HeteroGraph, Problem, Settings
from diffmg.methods import Baseline
from diffmg.nn import Affine


@dataclass(frozen=True)
class MeanOfNeighbours(Baseline):
    """One relation into the target type, its first one, and no more."""

    own: bool = True
    """Whether the node's own features are read too."""

    towers = (1,)
    summary = "outside: mean of the neighbours' features, then a linear map"

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh network."""
        return _Network(self, problem, seed)


class _Network(nn.Module):
    def __init__(self, options: MeanOfNeighbours, problem: Problem, seed: int) -> None:
        super().__init__()
        graph, (target,) = problem.graph, problem.task.target_types
        self.own, self.target = options.own, target
        self.relation = next(r for r in graph.schema.into(target) if r.source in graph.features and r.source != target)
        width = graph.inputs(self.relation.source) + (graph.inputs(target) if self.own else 0)
        self.head = Affine(width, problem.task.outputs, torch.Generator().manual_seed(seed % 2**31))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Outputs of the target type."""
        rows = [graph.propagation[self.relation].matrix @ graph.features[self.relation.source]]
        if self.own:
            rows.append(graph.features[self.target])
        return (self.head(torch.cat(rows, dim=1)),)
