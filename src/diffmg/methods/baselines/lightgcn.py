"""LightGCN: learned vectors spread over the graph of users and items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._choices import observed_choices
from diffmg.tasks.problem import Problem

SPREAD = 0.1
"""Standard deviation of the vectors' entries at the start, as in the authors' program."""


@METHODS.add("lightgcn")
@dataclass(frozen=True)
class LightGCN(Baseline):
    """He et al., 2020: `E_k+1 = D^-1/2 A D^-1/2 E_k`, and the mean of `E_0` to `E_layers`; only `E_0` is learned.

    A links users and items that any relation between the two types links, once each, whatever its weight. Left out: all
    other relations, and features (the method has none of them); the pairwise ranking loss with fresh negatives of the
    paper, since every method here is trained with the task's loss; dropout, which the method does not use.
    """

    layers: Count = 3

    summary = "recommendation: learned vectors averaged over the user-item graph (He et al. 2020)"
    towers: ClassVar = (2,)
    tunable: ClassVar = {"layers": (1, 2, 3, 4)}

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh model."""
        matrix = both_sides_normalised(observed_choices(problem))
        return _Network(matrix, self.layers, settings.dim, seed)


class _Network(nn.Module):
    def __init__(self, matrix: sp.csr_matrix, layers: int, dim: int, seed: int) -> None:
        super().__init__()
        self.matrix, self.layers = SparseBuffer(matrix), layers
        draw = seeded("cpu", seed, "parameters")
        self.user = nn.Parameter(torch.empty(matrix.shape[0], dim).normal_(0, SPREAD, generator=draw))
        self.item = nn.Parameter(torch.empty(matrix.shape[1], dim).normal_(0, SPREAD, generator=draw))

    def forward(
        self,
        graph: HeteroGraph,  # noqa: ARG002
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Representations of users and of items, `dim` columns each."""
        matrix = self.matrix.fixed
        user: list[Tensor] = [self.user]
        item: list[Tensor] = [self.item]
        for _ in range(self.layers):
            ahead = matrix @ item[-1], matrix.T @ user[-1]
            user.append(ahead[0])
            item.append(ahead[1])
        return torch.stack(user).mean(dim=0), torch.stack(item).mean(dim=0)


def both_sides_normalised(choices: sp.csr_matrix) -> sp.csr_matrix:
    """Each entry divided by the square roots of its row's and its column's sum; empty rows and columns stay empty."""
    scales = [sp.diags(np.maximum(np.asarray(choices.sum(axis=a)).ravel(), 1.0) ** -0.5) for a in (1, 0)]
    return sp.csr_matrix(scales[0] @ choices @ scales[1])
