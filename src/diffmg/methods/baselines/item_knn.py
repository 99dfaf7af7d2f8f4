"""ItemKNN: items that were chosen by the same users as those a user chose."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core import METHODS, Count, NotNegative, Settings
from diffmg.methods.baselines._item_weights import ByItemWeights, ItemWeights
from diffmg.tasks.problem import Problem

CHUNK = 1024


@METHODS.add("item_knn")
@dataclass(frozen=True)
class ItemKNN(ByItemWeights):
    """The score of an item is the sum of its similarities to the user's items (Sarwar et al., 2001).

    The similarity of two items is the number of users who chose both, divided by the root of the product of their
    numbers of users, plus `shrinkage`. Each item has only its `neighbours` most similar other items. A choice is a user
    and an item linked by any relation between the two types. Labelled pairs and features are not used.
    """

    neighbours: Count = 200
    shrinkage: NotNegative = 10.0
    """Added to the denominator: lowers similarities that rest on few users."""

    summary = "recommendation: items chosen together with those a user chose (cosine, nearest neighbours)"
    cheap_items: ClassVar = 10_000
    tunable: ClassVar = {"neighbours": (20, 50, 200, 500), "shrinkage": (0.0, 1.0, 10.0, 50.0)}


@ItemKNN.builds
class _Network(ItemWeights):
    def __init__(self, options: ItemKNN, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__(problem)
        self.options = options

    def fit(self, problem: Problem, seed: int) -> None:  # noqa: ARG002
        """Keep the nearest neighbours of every item and their similarities, both (items, neighbours)."""
        choices = self.choices(problem.graph)
        starts = range(0, choices.shape[1], CHUNK)
        nearest = [most_similar(choices, start, start + CHUNK, self.options) for start in starts]
        self.keep(
            neighbours=torch.cat([n.indices for n in nearest]), similarities=torch.cat([n.values for n in nearest])
        )

    def weights(self) -> Tensor:
        """The similarities as a dense matrix, 0 for items that are not neighbours."""
        neighbours, similarities = self.kept("neighbours"), self.kept("similarities")
        items = len(neighbours)
        return torch.zeros(items, items, device=self.device).scatter_(1, neighbours, similarities)


def most_similar(choices: sp.csr_matrix, start: int, end: int, options: ItemKNN) -> torch.return_types.topk:
    """The nearest neighbours of the items `start` to `end`, most similar first."""
    users = np.asarray(choices.sum(axis=0)).ravel()
    common = (choices[:, start:end].T @ choices).toarray()
    similarity = common / np.maximum(np.sqrt(np.outer(users[start:end], users)) + options.shrinkage, 1e-12)
    similarity[np.arange(len(common)), np.arange(start, start + len(common))] = 0.0
    return torch.from_numpy(similarity).float().topk(min(options.neighbours, choices.shape[1]), dim=1)
