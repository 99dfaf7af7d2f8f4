"""Matrix factorisation: an embedding and a bias per user and item; the baseline without other relations."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Settings
from diffmg.core.candidate import DECAYS
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline, spread
from diffmg.tasks.problem import Problem


@METHODS.add("matrix_factorisation")
@dataclass(frozen=True)
class MatrixFactorisation(Baseline):
    """`p_u · q_i + b_u + c_i`, the model of Koren, Bell and Volinsky, 2009, trained with the task's loss.

    The biases are folded into the dot product as two more columns: `[p_u, b_u, 1] · [q_i, 1, c_i]`. The global mean is
    left out (the biases can absorb it). Edges, features and dropout are not used.

    The default weight decay is weaker than usual: the loss is a mean over all pairs, so one embedding has a tiny
    gradient (Amazon: 3e-5 at the start, while a decay of 0.001 pulls with 8e-4), and embeddings shrink to almost 0.
    """

    summary = "recommendation: a vector and a bias per user and item"
    towers: ClassVar = (2,)
    default_settings: ClassVar = {"weight_decay": 1e-4}
    varied_settings: ClassVar = {"lr": (0.003, 0.005, 0.01, 0.02), "weight_decay": DECAYS, "dim": (32, 64, 128)}


@MatrixFactorisation.builds
class _Network(nn.Module):
    def __init__(self, options: MatrixFactorisation, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__()
        users, items = (problem.graph.num_nodes[t] for t in problem.task.target_types)
        draw = seeded("cpu", seed, "parameters")
        self.user, self.item = spread(users, settings.dim, draw), spread(items, settings.dim, draw)
        self.user_bias, self.item_bias = (nn.Parameter(torch.zeros(rows, 1)) for rows in (users, items))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Embeddings of users, (users, dim + 2), and of items, (items, dim + 2)."""
        users = torch.cat([self.user, self.user_bias, torch.ones_like(self.user_bias)], dim=1)
        return users, torch.cat([self.item, torch.ones_like(self.item_bias), self.item_bias], dim=1)
