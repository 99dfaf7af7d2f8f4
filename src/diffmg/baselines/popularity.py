"""What most users chose: the floor under every recommender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.baselines._base import BASELINES, Baseline
from diffmg.errors import DiffmgError
from diffmg.graph import HeteroGraph
from diffmg.task import Recommendation
from diffmg.train import Problem, TrainSettings


@BASELINES.add("popularity")
@dataclass(frozen=True)
class Popularity(Baseline):
    """The score of an item is `scale * log(1 + users who chose it)`, the same for every user.

    A choice is a user and an item linked by any relation between the two types, counted once; weights of edges are not
    read. The scale is the only parameter and starts at 1: it fits the loss and leaves the order of items as it is.
    """

    summary = "recommendation: items by how many users chose them"
    tasks: ClassVar = (Recommendation,)

    def build(self, problem: Problem, settings: TrainSettings, seed: int) -> nn.Module:  # noqa: ARG002
        """A fresh model; nothing in it is drawn."""
        self.check(problem)
        return _Network(observed_choices(problem)).to(problem.graph.device)


class _Network(nn.Module):
    ones: Tensor
    counts: Tensor

    def __init__(self, choices: sp.csr_matrix) -> None:
        super().__init__()
        users = np.asarray(choices.sum(axis=0), np.float64).reshape(-1, 1)
        self.register_buffer("ones", torch.ones(choices.shape[0], 1), persistent=False)
        self.register_buffer("counts", torch.from_numpy(np.log1p(users)).float(), persistent=False)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(
        self,
        graph: HeteroGraph,  # noqa: ARG002
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """One column each for users, (users, 1), and items, (items, 1)."""
        return self.ones, self.scale * self.counts


def observed_choices(problem: Problem) -> sp.csr_matrix:
    """Ones (users, items) where any relation between the two types links them, in either direction.

    A task refuses a network that holds a supervised pair, so these are the observed choices alone.
    """
    user, item = problem.task.target_types
    graph = problem.graph
    found = sp.csr_matrix((graph.num_nodes[user], graph.num_nodes[item]))
    between = [r for r in graph.schema.relations if {r.source, r.target} == {user, item}]
    if not between:
        raise DiffmgError(
            f"observed choices need a relation between {user!r} and {item!r}, "
            f"but got only {[str(r) for r in graph.schema.relations]}; take a method that does not read them"
        )
    for relation in between:
        matrix = graph.adjacency[relation]
        ones = sp.csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
        found = found + (ones if relation.target == user else ones.T)
    found = found.tocsr()
    found.data[:] = 1.0
    return found
