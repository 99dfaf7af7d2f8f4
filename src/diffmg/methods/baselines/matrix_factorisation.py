"""A vector and a bias per user and per item: what the other relations must add to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline
from diffmg.tasks.problem import Problem

SPREAD = 0.1
"""Standard deviation of the vectors' entries at the start."""


@METHODS.add("matrix_factorisation")
@dataclass(frozen=True)
class MatrixFactorisation(Baseline):
    """`p_u · q_i + b_u + c_i`, the model of Koren, Bell and Volinsky, 2009, trained with the task's loss.

    The biases are folded into the dot product as two more columns: `[p_u, b_u, 1] · [q_i, 1, c_i]`. The overall mean is
    left out (the biases can hold it). Neither edges nor features are read, and dropout is not used.
    """

    summary = "recommendation: a vector and a bias per user and item"
    towers: ClassVar = (2,)

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """A fresh model."""
        counts = [problem.graph.num_nodes[t] for t in problem.task.target_types]
        return _Network(counts[0], counts[1], settings.dim, seed)


class _Network(nn.Module):
    def __init__(self, users: int, items: int, dim: int, seed: int) -> None:
        super().__init__()
        draw = seeded("cpu", seed, "parameters")
        self.user = nn.Parameter(torch.empty(users, dim).normal_(0, SPREAD, generator=draw))
        self.item = nn.Parameter(torch.empty(items, dim).normal_(0, SPREAD, generator=draw))
        self.user_bias = nn.Parameter(torch.zeros(users, 1))
        self.item_bias = nn.Parameter(torch.zeros(items, 1))

    def forward(
        self,
        graph: HeteroGraph,  # noqa: ARG002
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Vectors of users, (users, dim + 2), and of items, (items, dim + 2)."""
        left = torch.cat([self.user, self.user_bias, torch.ones_like(self.user_bias)], dim=1)
        return left, torch.cat([self.item, torch.ones_like(self.item_bias), self.item_bias], dim=1)
