"""Graph convolution with a weight per relation (Schlichtkrull et al., ESWC 2018, arXiv 1703.06103)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Bounds, Count, Relation, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.methods.baselines._base import Baseline, StackedModel, glorot
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._reach import mean_over_neighbours, relations_by_layer
from diffmg.tasks.problem import Problem


@METHODS.add("rgcn")
@dataclass(frozen=True)
class RGCN(Baseline):
    """Projection per type, then `layers` of `H_v W_0 + b + sum over r of mean over N_r(v) of H_u W_r`.

    ReLU and dropout between layers. With `bases` > 0, the relation weights of a layer are linear combinations of that
    many basis matrices. Inverse relations are used only if the network has them. Means use edge weights; nodes without
    neighbours get zeros. A layer has weights only for relations that can still reach the targets. Left out: the
    block-diagonal decomposition, edge dropout, and the link-prediction decoder.
    """

    layers: Count = 2
    bases: Annotated[int, Bounds(0)] = 0
    """Number of basis matrices; 0: each relation has its own weight matrix."""

    summary = "graph convolution, one weight per relation (Schlichtkrull et al. 2018)"
    tunable: ClassVar = {"layers": (1, 2, 3, 4)}


@RGCN.builds
class _Network(StackedModel):
    def __init__(self, options: RGCN, problem: Problem, settings: Settings, seed: int) -> None:
        graph, targets = problem.graph, problem.task.target_types
        means = {r: m for r, a in graph.adjacency.items() if (m := mean_over_neighbours(a)).nnz}
        reaching = relations_by_layer(tuple(means), targets, options.layers)
        live = [{*targets, *(r.source for r in some)} for some in (*reaching, ())]
        super().__init__(problem, settings, seed, types=[t for t in graph.schema.node_types if t in live[0]])
        self.live = live  # input types of each layer, then the output types
        self.relations = reaching[0]  # a superset of those of later layers
        self.matrices = nn.ModuleList(SparseBuffer(means[r]) for r in self.relations)
        draw = seeded("cpu", seed, "layers")
        layers = zip(live[1:], reaching, strict=True)
        self.layers = nn.ModuleList(_Layer(types, rs, options.bases, settings.dim, draw) for types, rs in layers)

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Type by type; types no longer needed by a target keep their old rows."""
        states = {t: self.rows(h, t) for t in self.types}
        means: dict[Relation, Any] = dict(zip(self.relations, self.matrices, strict=True))
        for number, layer in enumerate(self.layers):
            if number > 0:
                read = [t for t in self.types if t in self.live[number]]
                states |= {t: self.drop(torch.relu(states[t]), generator) for t in read}
            states |= layer(states, means)
        return torch.cat([states[t] for t in self.types])


class _Layer(nn.Module):
    """The weights of one layer: self-connection, and relations into the types it computes."""

    def __init__(
        self, types: Collection[str], relations: Sequence[Relation], bases: int, dim: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.types, self.relations = sorted(types), relations
        self.own = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))
        count = len(relations) if bases == 0 else bases
        self.matrices = nn.Parameter(glorot(count, dim, dim, generator=generator)) if relations else None
        self.mixture = nn.Parameter(glorot(len(relations), bases, generator=generator)) if relations and bases else None

    def forward(self, states: Mapping[str, Tensor], means: Mapping[Relation, SparseBuffer]) -> dict[str, Tensor]:
        """Updated states of the types it computes."""
        new = {t: torch.addmm(self.bias, states[t], self.own) for t in self.types}
        for relation, weight in zip(self.relations, self._weights(), strict=True):
            message = (means[relation].fixed @ states[relation.source]) @ weight
            new[relation.target] = new[relation.target] + message
        return new

    def _weights(self) -> Sequence[Tensor]:
        """One matrix per relation."""
        if self.matrices is None:
            return ()
        if self.mixture is None:
            return self.matrices.unbind()
        return torch.einsum("rb,bio->rio", self.mixture, self.matrices).unbind()
