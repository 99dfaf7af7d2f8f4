"""EASE: a linear model from a user's items to all items, in closed form."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from diffmg.core import METHODS, Positive, Settings
from diffmg.methods.baselines._item_weights import ByItemWeights, ItemWeights, chosen_items
from diffmg.tasks.problem import Problem


@METHODS.add("ease")
@dataclass(frozen=True)
class Ease(ByItemWeights):
    """Steck, 2019: the scores are `R W`, where W minimises `|R - R W|² + l2 |W|²` with a diagonal of zeros.

    With `P = (R^T R + l2 I)^-1`, W is `-P_ij / P_jj` off the diagonal. R has ones where any relation between users and
    items links the two. Labelled pairs, other relations and features are not used. Items that nobody chose have weights
    of 0, so time grows with the third power of the number of the others, memory with the second.
    """

    l2: Positive = 500.0
    """Penalty on the squared weights."""

    summary = "recommendation: linear item-to-item model in closed form (Steck 2019)"
    cheap_items: ClassVar = 7000
    tunable: ClassVar = {"l2": (20.0, 100.0, 500.0, 2000.0)}


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
