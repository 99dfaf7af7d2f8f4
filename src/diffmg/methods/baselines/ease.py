"""EASE: a linear model from a user's items to all items, in closed form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Positive, Settings, derive_seed
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._choices import choices_between
from diffmg.methods.baselines._item_weights import ByItemWeights, ItemWeights, chosen_items
from diffmg.methods.baselines._svd import Floats, truncated_svd
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem

RANKS = (1024, 512, 256)
"""Ranks that stand for the exact solution where there are many items, the best first."""
CHEAP_NUMBERS = 2**25
"""Limit of (users + items) * rank up to which a decomposition takes seconds."""

_DECOMPOSED: WeakKeyDictionary[HeteroGraph, dict[tuple[str, str, int], tuple[Floats, Floats]]] = WeakKeyDictionary()


@METHODS.add("ease")
@dataclass(frozen=True)
class Ease(ByItemWeights):
    """Steck, 2019: the scores are `R W`, where W minimises `|R - R W|² + l2 |W|²` with a diagonal of zeros.

    With `P = (R^T R + l2 I)^-1`, W is `-P_ij / P_jj` off the diagonal. R has ones where any relation between users and
    items links the two. Labelled pairs, other relations and features are not used. Items that nobody chose have weights
    of 0, so time grows with the third power of the number of the others, memory with the second.

    With `rank`, P comes from the largest singular values of R alone, and vectors have as many columns.
    """

    l2: Positive = 500.0
    """Penalty on the squared weights."""
    rank: Count | None = None
    """Singular vectors of R; None for the exact solution."""

    summary = "recommendation: linear item-to-item model in closed form (Steck 2019)"
    cheap_items: ClassVar = 4000
    tunable: ClassVar = {"l2": (20.0, 100.0, 500.0, 2000.0)}

    def columns(self, problem: Problem) -> int:
        """As many as there are items, or the rank."""
        return super().columns(problem) if self.rank is None else self.rank

    def is_cheap(self, problem: Problem) -> bool:
        """Few items, or a low rank where all items are ranked: there it is worth the seconds."""
        if self.rank is None:
            return super().is_cheap(problem)
        size = sum(problem.graph.num_nodes[t] for t in problem.task.target_types)
        return problem.task.kind == "ranking" and size * self.rank <= CHEAP_NUMBERS

    def tunable_on(self, problem: Problem) -> Mapping[str, tuple[Any, ...]]:
        """Of many items, also the highest rank that is cheap."""
        cheap = [r for r in RANKS if Ease(rank=r).is_cheap(problem)]
        return self.tunable if super().is_cheap(problem) or not cheap else {**self.tunable, "rank": (cheap[0],)}

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """The exact one, or one of low rank."""
        if self.rank is None:
            return super().model(problem, settings, seed)
        return _LowRank(self.l2, self.rank, problem)


@Ease.builds
class _Network(ItemWeights):
    def __init__(self, options: Ease, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__(problem)
        self.options = options

    def fit(self, problem: Problem, seed: int) -> None:  # noqa: ARG002
        """Solve for the weights between the items that anybody chose, in double precision."""
        choices = self.choices(problem.graph)
        chosen = chosen_items(choices)
        known = choices[:, chosen]
        gram = torch.from_numpy((known.T @ known).toarray()).to(self.device)
        gram.diagonal().add_(self.options.l2)
        weights = torch.cholesky_inverse(torch.linalg.cholesky(gram))
        weights.div_(-weights.diagonal().clone()).fill_diagonal_(0)
        self.keep(chosen=torch.from_numpy(chosen), items=torch.tensor(choices.shape[1]), block=weights.T.float())

    def weights(self) -> Tensor:
        """As they were solved for, and 0 where nobody chose one of the two items."""
        chosen, items = self.kept("chosen"), int(self.kept("items"))
        weights = torch.zeros(items, items, device=self.device)
        weights[chosen.unsqueeze(1), chosen] = self.kept("block")
        return weights


class _LowRank(Fitted):
    """With `R = U S V^T` and `F = S² / (S² + l2)`, P is `(I - V F V^T) / l2`.

    So an item j that the user u did not choose has the score `(R V F V^T)_uj / (1 - (V F V^T)_jj)`. Of an item that the
    user chose, the score is another than the exact one by what the item says of itself; known items are not ranked.
    """

    def __init__(self, l2: float, rank: int, problem: Problem) -> None:
        super().__init__()
        self.l2, self.rank = l2, rank
        self.user, self.item = problem.task.target_types

    def fit(self, problem: Problem, seed: int) -> None:  # noqa: ARG002
        """Keep what takes choices to vectors of users, and the vectors of items, both (items, rank)."""
        s, v = decomposed(problem.graph, self.user, self.item, self.rank)
        filtered = v * (s**2 / (s**2 + self.l2))
        own = np.minimum((filtered * v).sum(axis=1, keepdims=True), 1 - 1e-6)
        self.keep(users=torch.from_numpy(filtered).float(), items=torch.from_numpy(v / (1 - own)).float())

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Representations of users and of items, `rank` columns each."""
        choices = choices_between(graph, self.user, self.item).astype(np.float32)
        users = torch.from_numpy(choices @ self.kept("users").numpy(force=True))
        return users.to(self.device), self.kept("items")


def decomposed(graph: HeteroGraph, user: str, item: str, rank: int) -> tuple[Floats, Floats]:
    """The largest singular values of the choices, and their right singular vectors, (items, rank).

    The penalty has no part in them, so they are kept as long as the network.
    """
    known, key = _DECOMPOSED.setdefault(graph, {}), (user, item, rank)
    if key not in known:
        rng = np.random.default_rng(derive_seed(0, "ease"))
        known[key] = truncated_svd(choices_between(graph, user, item), rank, rng)[1:]
    return known[key]
