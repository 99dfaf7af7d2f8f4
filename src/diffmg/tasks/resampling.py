"""Drawing examples anew, to see how far a score varies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.tasks.pairs import Labelled


def redrawn_users(labelled: Labelled, count: int, seed: int) -> Iterator[tuple[Labelled, Tensor]]:
    """Users drawn with replacement, each with all its pairs: the labels drawn, and the places of their pairs.

    Only labels are drawn: the samples are for scores of votes.
    """
    rng = np.random.default_rng(seed)
    users, place = np.unique(labelled.pairs.left.numpy(force=True), return_inverse=True)
    own = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    for _ in range(count):
        drawn = np.concatenate([own[user] for user in rng.integers(0, len(users), len(users))])
        rows = torch.from_numpy(drawn).to(labelled.labels.device)
        yield Labelled.of(labelled.pairs, labelled.labels[rows]), rows


def groups_of(count: int, groups: int, seed: int) -> list[NDArray[np.int64]]:
    """The numbers up to `count` in groups of about one size, at random."""
    order = np.random.default_rng(seed).permutation(count)
    return [np.sort(group) for group in np.array_split(order, max(1, min(groups, count)))]
