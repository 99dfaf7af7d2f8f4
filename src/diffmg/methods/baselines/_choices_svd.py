"""A shrunk singular value decomposition of who chose what, for tasks on pairs of users and items."""

import numpy as np
import torch
from torch import Tensor

from diffmg.core import derive_seed
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._choices import observed_choices
from diffmg.methods.baselines._moves import both_sides_scaled
from diffmg.methods.baselines._svd import truncated_svd
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem


class ChoicesSvd(Fitted):
    """Scores `U S³ / (S² + l2) V^T D^1/2`, from the choices `D^-1/2 R D^-1/2 = U S V^T`; D counts those of an end.

    That is the ridge regression of the choices on themselves, of low rank (PureSVD of Cremonesi et al., 2010, shrunk).
    """

    def __init__(self, rank: int, l2: float) -> None:
        super().__init__()
        self.rank, self.l2 = rank, l2

    def fit(self, problem: Problem, seed: int) -> None:
        """Keep a vector for every user and item."""
        choices = observed_choices(problem)
        u, s, v = truncated_svd(both_sides_scaled(choices), self.rank, np.random.default_rng(derive_seed(seed, "svd")))
        counts = np.asarray(choices.sum(axis=0)).reshape(-1, 1)
        users, items = u * s**3 / (s**2 + self.l2), v * np.sqrt(counts)
        self.keep(users=torch.from_numpy(users).float(), items=torch.from_numpy(items).float())

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Representations of users and of items, `rank` columns each."""
        return self.kept("users"), self.kept("items")
