"""Simple-HGN: attention with learned embeddings of edge types (Lv et al., KDD 2021, arXiv 2112.14936)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Fraction, Relation, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline, StackedModel, glorot, starts_of
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._links import Attention, Links
from diffmg.methods.baselines._reach import relations_by_layer, types_within
from diffmg.tasks.problem import Problem

Edges = NDArray[np.int64]
SLOPE = 0.05
"""Negative slope of LeakyReLU in the attention, as in the authors' code."""


@METHODS.add("simple_hgn")
@dataclass(frozen=True)
class SimpleHGN(Baseline):
    """Projection per type, then `layers` of attention whose logits add a term for the kind of the edge.

    `exp LeakyReLU(a [W h_v, W h_u, W_e e_kind])`, normalised over the edges into v; a share `beta` of the previous
    layer's attention is mixed in (residual attention); every layer adds its input before ELU. Outputs are
    L2-normalised: class logits, which softens the probabilities, or user and item representations; numbers
    are left as they are. Edge kinds are the relations, the reverse of a relation for pairs not linked in that
    direction, and self-loops. Unlike the original, a pair linked by two relations has two edges, and heads have `dim /
    heads` columns instead of `dim`; edge weights are ignored. A layer has embeddings only for kinds that can still
    reach the targets. Classes come from a linear map, not from another attention layer. Left out: the link decoders
    (pairs are scored by their dot product).
    """

    layers: Count = 2
    heads: Count = 8
    edge_dim: Count = 64
    """Size of the edge-kind embeddings."""
    beta: Fraction = 0.05
    """Weight of the previous layer's attention."""
    attention_dropout: Fraction = 0.0
    """Dropout rate of the attention weights; the original uses the same rate as for features."""

    summary = "attention with learned vectors for relations, residual (Lv et al. 2021)"
    tunable: ClassVar = {"layers": (2, 3), "heads": (4, 8)}


@SimpleHGN.builds
class _Network(StackedModel):
    def __init__(self, options: SimpleHGN, problem: Problem, settings: Settings, seed: int) -> None:
        graph, targets = problem.graph, problem.task.target_types
        types = types_within(graph.schema, targets, options.layers)
        super().__init__(problem, settings, seed, types=types)
        self.numeric = problem.task.numeric
        self.attention_dropout, nodes = options.attention_dropout, sum(graph.num_nodes[t] for t in types)
        kinds, edges = edges_by_kind(graph, types)
        edges.append(np.tile(np.arange(nodes), (2, 1)))  # self-loops, the last kind
        self.links = Links(np.concatenate(edges, axis=1)[::-1].T, nodes, options.heads)
        kind_of = np.repeat(np.arange(len(edges)), [e.shape[1] for e in edges])[self.links.order]
        marks = SparseBuffer(sp.csr_matrix((np.ones(len(kind_of)), (np.arange(len(kind_of)), kind_of))))
        draw = seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList()
        for reaching in relations_by_layer(kinds, targets, options.layers):
            live = [number for number, kind in enumerate(kinds) if kind in reaching]
            chosen = torch.eye(len(edges))[:, [*live, len(kinds)]]
            self.layers.append(_Layer(marks, chosen, options, settings.dim, draw))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Outputs for the task to score, L2-normalised unless they are numbers."""
        outputs = super().forward(graph, generator)
        return outputs if self.numeric else tuple(F.normalize(z) for z in outputs)

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """All nodes at once."""
        drop = partial(self.drop, generator=generator, share=self.attention_dropout)
        h, attention = self.layers[0](h, self.links, drop)
        for layer in self.layers[1:]:
            h, attention = layer(self.drop(F.elu(h), generator), self.links, drop, attention)
        return h


class _Layer(Attention):
    """Attention with an embedding per edge kind, and per head a projection and an attention vector for it."""

    def __init__(
        self, marks: SparseBuffer, live: Tensor, options: SimpleHGN, dim: int, generator: torch.Generator
    ) -> None:
        """`marks`: one-hot kind of each link, (links, all kinds); `live`: kinds with an embedding, (all kinds, kinds).

        `marks` has no empty rows, which are slow on a GPU: missing embeddings count as 0.
        """
        super().__init__(dim, options.heads, generator)
        self.marks, self.beta = marks, options.beta
        self.register_buffer("live", live, persistent=False)
        size, heads = options.edge_dim, options.heads
        self.kinds = nn.Parameter(torch.empty(live.shape[1], size).normal_(generator=generator))
        self.map = nn.Parameter(glorot(heads, size, size, generator=generator))
        self.kind = nn.Parameter(glorot(heads, size, 1, generator=generator))

    def forward(  # type: ignore[override]
        self, h: Tensor, links: Links, drop: Callable[[Tensor], Tensor], before: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Updated states, (nodes, dim), and the attention; `before` is the previous layer's attention."""
        x = self.heads_of(h)
        attention = drop(links.softmax(self.logits(x, links)))
        if before is not None:
            attention = (1 - self.beta) * attention + self.beta * before
        change = links.gather(attention, x) + self.bias
        return h + change, attention.detach()  # detached as in the authors' code

    def logits(self, x: Tensor, links: Links) -> Tensor:
        """Attention logits from both ends and the kind of every link, (heads, links)."""
        of_kind = (self.kinds @ self.map @ self.kind).squeeze(2)
        of_link = self.marks.fixed @ (self.get_buffer("live") @ of_kind.T)
        return F.leaky_relu(super().logits(x, links) + of_link.T, SLOPE)


def edges_by_kind(graph: HeteroGraph, types: Sequence[str]) -> tuple[list[Relation], list[Edges]]:
    """Kinds of edges between these types, and their edges as (source, target) rows of stacked node numbers.

    Self-loops are left out. A pair linked in one direction only gets a reverse edge, whose kind is the reverse of its
    relation.
    """
    starts, nodes = starts_of(graph, types), sum(graph.num_nodes[t] for t in types)
    found: dict[Relation, Edges] = {}
    for r in graph.schema.relations:
        if r.source in types and r.target in types:
            edges = graph.edge_index(r) + np.array([[starts[r.source]], [starts[r.target]]])
            found[r] = edges[:, edges[0] != edges[1]]
    known = np.sort(np.concatenate([np.empty(0, np.int64), *(s * nodes + t for s, t in found.values())]))
    kinds, parts = list(found), list(found.values())
    for r, (source, target) in found.items():
        back = target * nodes + source
        alone = known[np.searchsorted(known, back).clip(max=len(known) - 1)] != back
        kinds.append(Relation(r.target, f"reverse of {r.name}", r.source))
        parts.append(np.stack([target[alone], source[alone]]))
    nonempty = [number for number, edges in enumerate(parts) if edges.shape[1]]
    return [kinds[n] for n in nonempty], [parts[n] for n in nonempty]
