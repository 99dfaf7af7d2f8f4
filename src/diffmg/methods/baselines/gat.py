"""Graph attention on the homogeneous network, node types ignored (Velickovic et al., ICLR 2018, arXiv 1710.10903)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Fraction, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.methods.baselines._base import Baseline, StackedModel
from diffmg.methods.baselines._links import Attention, Links
from diffmg.methods.baselines._reach import rows_of_types, types_within, union
from diffmg.tasks.problem import Problem


@METHODS.add("gat")
@dataclass(frozen=True)
class GAT(Baseline):
    """Projection per type, then `layers` of attention with `heads` heads over neighbours and the node itself.

    Neighbours are those of `gcn`. The heads have `dim / heads` columns and are concatenated, also in the last layer
    (the original averages there); LeakyReLU has slope 0.2, ELU follows all layers but the last, and dropout is applied
    to the input of every layer. Left out: residual connections, which the original uses for one data set. PyG's layer
    would draw dropout from the global generator and store `dim` values per edge.
    """

    layers: Count = 4
    heads: Count = 8
    attention_dropout: Fraction = 0.0
    """Dropout rate of the attention weights; 0.6 in the original, which has two layers."""

    summary = "graph attention, types forgotten (Velickovic et al. 2018)"
    tunable: ClassVar = {"layers": (2, 3, 4), "heads": (1, 4, 8)}
    default_settings: ClassVar = {"weight_decay": 1e-4}


@GAT.builds
class _Network(StackedModel):
    def __init__(self, options: GAT, problem: Problem, settings: Settings, seed: int) -> None:
        types = types_within(problem.graph.schema, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=types)
        near = rows_of_types(union(problem.graph), problem.graph, types)
        looped = (near + sp.identity(near.shape[0], format="csr")).tocoo()
        self.links = Links(np.stack([looped.row, looped.col], axis=1), near.shape[0], options.heads)
        self.attention_dropout, draw = options.attention_dropout, seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList(Attention(settings.dim, options.heads, draw) for _ in range(options.layers))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """All nodes at once."""
        drop = partial(self.drop, generator=generator, share=self.attention_dropout)
        h = self.layers[0](h, self.links, drop)
        for layer in self.layers[1:]:
            h = layer(self.drop(F.elu(h), generator), self.links, drop)
        return h
