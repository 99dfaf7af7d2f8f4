"""Recommends the most popular items: the simplest baseline."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._choices import observed_choices
from diffmg.tasks.problem import Problem


@METHODS.add("popularity")
@dataclass(frozen=True)
class Popularity(Baseline):
    """The score of an item is `scale * log(1 + users who chose it)`, the same for every user.

    A choice is a user and an item linked by any relation between the two types, counted once; edge weights are
    ignored. The scale is the only parameter, initially 1: it fits the loss without changing the ranking.
    """

    summary = "recommendation: items by how many users chose them"
    towers: ClassVar = (2,)
    varied_settings: ClassVar = {}


@Popularity.builds
class _Network(nn.Module):
    ones: Tensor
    counts: Tensor

    def __init__(self, options: Popularity, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__()
        choices = observed_choices(problem)
        users = np.asarray(choices.sum(axis=0), np.float64).reshape(-1, 1)
        self.register_buffer("ones", torch.ones(choices.shape[0], 1), persistent=False)
        self.register_buffer("counts", torch.from_numpy(np.log1p(users)).float(), persistent=False)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """One column each for users, (users, 1), and items, (items, 1)."""
        return self.ones, self.scale * self.counts
