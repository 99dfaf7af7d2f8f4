"""Recommenders that score an item by the weights between it and the items a user chose."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._choices import choices_between
from diffmg.methods.baselines._fitted import FittedBaseline
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem

MOST_NUMBERS = 2**29
"""Limit of (users + items) * columns: two dense matrices of single precision, 2 GiB together."""


class ByItemWeights(FittedBaseline):
    """A baseline whose representation of a user is the row of chosen items, that of an item its column of weights."""

    towers = (2,)
    cheap_items: ClassVar[int]
    """Items, each chosen by somebody, up to which the weights between all of them take seconds."""

    def is_cheap(self, problem: Problem) -> bool:
        """Some thousand items: weights between all that anybody chose are computed, kept and multiplied."""
        return len(chosen_items(choices_between(problem.graph, *problem.task.target_types))) <= self.cheap_items

    def columns(self, problem: Problem) -> int:
        """Columns of the representations: as many as there are items."""
        return problem.graph.num_nodes[problem.task.target_types[1]]

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require choices, and few enough nodes for dense matrices."""
        super().check(problem, settings)
        users, items = choices_between(problem.graph, *problem.task.target_types).shape
        size, columns = users + items, self.columns(problem)
        if size * columns > MOST_NUMBERS:
            raise DiffmgError(
                f"`(users + items) * columns <= {MOST_NUMBERS}` must hold for {self.name!r}, which scores with dense "
                f"matrices, but got {users} users and {items} items with {columns} columns "
                f"({size * columns * 4 / 2**30:.1f} GiB); take a method with short vectors, such as 'lightgcn' or "
                "'ease' with rank=256"
            )


def chosen_items(choices: sp.csr_matrix) -> NDArray[np.int64]:
    """The items that anybody chose; choices are (users, items)."""
    return np.flatnonzero(np.bincount(choices.indices, minlength=choices.shape[1]))


class ItemWeights(Fitted):
    """Scores `R W`, R the choices (users, items) and W the weights (items, items)."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.user, self.item = problem.task.target_types

    @abstractmethod
    def weights(self) -> Tensor:
        """W transposed, (items, items): row i holds what every chosen item adds to the score of item i."""

    def choices(self, graph: HeteroGraph) -> sp.csr_matrix:
        """R, ones where a user chose an item."""
        return choices_between(graph, self.user, self.item)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Choices of users, (users, items), and weights of items, (items, items)."""
        chosen = self.choices(graph).astype(np.float32).toarray()
        return torch.from_numpy(chosen).to(self.device), self.weights()


def sum_of(networks: Sequence[ItemWeights], weights: Sequence[float], graph: HeteroGraph) -> tuple[Tensor, ...]:
    """The outputs of a weighted sum: choices are the same ones, so the weights of items add up, one after another."""
    choices, total = networks[0](graph)
    total.mul_(weights[0])
    for network, weight in zip(networks[1:], weights[1:], strict=True):
        total.add_(network.weights(), alpha=weight)
    return choices, total
