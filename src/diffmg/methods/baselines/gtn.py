"""GTN: learns meta paths as chains of softly selected relations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Positive, Relation, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.sparse import FixedMatrix
from diffmg.methods.baselines._base import Baseline, StackedModel
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._reach import reaching
from diffmg.nn import Affine
from diffmg.tasks.problem import Problem

DEEPEST = 10.0
"""Logits are clipped at the maximum minus this: a node without links has only identity, whose weight must not be 0."""


@METHODS.add("gtn")
@dataclass(frozen=True)
class GTN(Baseline):
    """Yun et al., 2019: `A = D^-1 Q_hops ... Q_1` per channel, where every Q is a soft selection of relations.

    `Q = Σ_r w_r A_r + w_0 I` with w = softmax of one logit per relation, hop and channel; A_r has the edge weights.
    Then `ReLU(D'^-1 (A + I) X W)` with W shared by the channels, as in the paper; the channels are concatenated,
    followed by a linear map and (with labels) ReLU before the classifier. D holds the row sums of the whole product, as
    in the paper, where the normalisation after the last layer cancels the earlier ones. Matrix products are never
    formed: the chain is applied to `X W` and to a column of ones, which gives D. Since D cancels any scale of a Q,
    relations that cannot reach a target can be left out of the softmax without changing the result.

    Not as in the paper: features first go through a projection per type; users and items share the selection. The
    authors' code can train it at up to 100 times the base learning rate, decaying; here it is a constant option.
    """

    channels: Count = 2
    hops: Count = 3
    """Length of the longest path in relations: the paper's layers + 1."""
    choice_rate: Positive = 10.0
    """Learning-rate factor of the relation logits; with 1 they hardly leave their initial values."""

    summary = "softly chosen relations chained to meta paths (Yun et al. 2019)"
    tunable: ClassVar = {"hops": (2, 3, 4), "choice_rate": (1.0, 10.0, 100.0)}


@GTN.builds
class _Network(StackedModel):
    """Target types come first, so `encode` need only return their rows."""

    def __init__(self, options: GTN, problem: Problem, settings: Settings, seed: int) -> None:
        graph = problem.graph
        levels = reaching(graph.schema, problem.task.target_types, options.hops)
        super().__init__(problem, settings, seed, types=levels[0])
        draw = seeded("cpu", seed, "layers")
        relations = [tuple(r for t in level for r in graph.schema.into(t)) for level in levels[1:]]
        self.relations = tuple(dict.fromkeys(sum(relations, ())))
        self.adjacency = nn.ModuleList(SparseBuffer(graph.adjacency[r]) for r in self.relations)
        steps = [(level, rs) for level, rs in zip(levels[1:], relations, strict=True) if rs]
        self.hops = nn.ModuleList(_Hop(types, rs, options, draw) for types, rs in steps)
        self.transform = Affine(settings.dim, settings.dim, draw)
        self.channels, self.mix = options.channels, Affine(options.channels * settings.dim, settings.dim, draw)
        self.activate = nn.ReLU() if problem.task.outputs else nn.Identity()

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of the target types."""
        first = self.transform(h)
        looped = torch.cat([first, first.new_ones(len(first), 1)], 1).unsqueeze(1)
        states = {t: self.rows(looped, t) for t in self.types}
        matrices = {r: a.fixed for r, a in zip(self.relations, self.adjacency, strict=True)}
        for hop in self.hops:
            states = hop(states, matrices)
        last = torch.cat([states[t] for t in self.targets])
        z = (last[..., :-1] / last[..., -1:] + first[: len(last)].unsqueeze(1)) / 2  # rows of A sum to 1: D' = 2 I
        z = torch.relu(z).expand(-1, self.channels, -1).flatten(1)
        mixed: Tensor = self.activate(self.mix(self.drop(z, generator)))
        return self.drop(mixed, generator) if isinstance(self.head, Affine) else mixed


class _Hop(nn.Module):
    """`Q` of every channel, restricted to the rows of the types needed after it."""

    def __init__(
        self, types: Sequence[str], relations: Sequence[Relation], options: GTN, draw: torch.Generator
    ) -> None:
        super().__init__()
        self.types, self.relations, self.rate = tuple(types), tuple(relations), options.choice_rate
        start = torch.empty(len(relations) + 1, options.channels).normal_(0, 0.1, generator=draw)
        self.choice = nn.Parameter(start / self.rate)  # Adam's steps ignore scale: the factor acts as a rate

    def forward(self, states: Mapping[str, Tensor], matrices: Mapping[Relation, FixedMatrix]) -> dict[str, Tensor]:
        """The next state (n, channels, columns) of each type from (n, channels or 1, columns)."""
        logits = self.rate * self.choice
        weights = torch.maximum(logits, logits.detach().amax(0) - DEEPEST).softmax(dim=0).unsqueeze(2)
        after = {t: weights[-1] * states[t] for t in self.types}
        for relation, weight in zip(self.relations, weights[:-1], strict=True):
            h = states[relation.source]
            message = (matrices[relation] @ h.flatten(1)).view(-1, *h.shape[1:])
            after[relation.target] = after[relation.target] + weight * message
        return after
