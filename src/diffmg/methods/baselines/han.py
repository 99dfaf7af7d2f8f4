"""HAN: attention over the neighbours along each meta path, then over meta paths.

X. Wang, H. Ji, C. Shi, B. Wang, P. Cui, P. Yu, Y. Ye: Heterogeneous Graph Attention Network, WWW 2019. One layer, as in
the paper: type-specific projection, node-level attention with several heads (of `dim / heads` columns each), ELU,
semantic attention. Dropout acts on the projected features and on the attention weights. Where a meta path links more
pairs than `most_pairs`, each node attends to a fixed random sample of its neighbours; the paper always uses all. For
recommendation there is one such network for users and one for items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import METHODS, Bounds, Count, Settings, derive_seed
from diffmg.engine.randomness import generator as seeded
from diffmg.methods.baselines._base import StackedModel, vectors
from diffmg.methods.baselines._links import Links
from diffmg.methods.baselines._path_attention import SLOPE, Tower
from diffmg.methods.baselines._path_walks import neighbours
from diffmg.methods.baselines._paths import AlongPaths
from diffmg.tasks.problem import Problem


@METHODS.add("han")
@dataclass(frozen=True)
class HAN(AlongPaths):
    """Hierarchical attention along meta paths (Wang et al. 2019)."""

    heads: Count = 8
    attention_dim: Count = 128
    """Width of the attention over meta paths."""
    most_pairs: Annotated[int, Bounds(0)] = 2_000_000
    """Neighbours are sampled for meta paths that link more pairs of nodes than this."""
    sampled: Count = 32
    """Random walks per node along a sampled path."""

    summary = "attention over neighbours along meta paths, then over the paths"
    tunable: ClassVar = {"heads": (1, 2, 4, 8)}


@HAN.builds
class _Network(StackedModel):
    def __init__(self, options: HAN, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__(problem, settings, seed, types=problem.task.target_types)
        paths = options.by_target(problem)
        draw, rng = seeded("cpu", seed, "layers"), np.random.default_rng(derive_seed(seed, "neighbours"))
        self.towers = nn.ModuleList()
        for target in self.targets:
            along = []
            for path in paths[target]:
                pairs = neighbours(problem.graph, path, options.most_pairs, options.sampled, rng)
                links = Links(np.stack(pairs, axis=1), problem.graph.num_nodes[target], options.heads)
                along.append(NodeAttention(links, settings.dim, draw))
            self.towers.append(Tower(along, settings.dim, options.attention_dim, draw))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Representations of the target types, each with its own attention."""
        drop = partial(self.drop, generator=generator)
        towers = zip(self.towers, self.targets, strict=True)
        return torch.cat([tower(self.rows(h, target), drop) for tower, target in towers])


class NodeAttention(nn.Module):
    """Attention over the neighbours along one meta path."""

    def __init__(self, links: Links, dim: int, draw: torch.Generator) -> None:
        super().__init__()
        self.links = links
        self.own, self.other = (vectors((links.heads, dim // links.heads), draw) for _ in range(2))

    def forward(self, h: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """The states of all nodes, (nodes, dim), for this path."""
        x = h.view(len(h), *self.own.shape).transpose(0, 1).contiguous()
        receives, sends = ((x @ v.unsqueeze(2)).squeeze(2) for v in (self.own, self.other))
        attention = self.links.softmax(F.leaky_relu(self.links.of_ends(receives, sends), SLOPE))
        return F.elu(self.links.gather(drop(attention), x))
