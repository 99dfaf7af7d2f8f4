"""Items that a user does not know, drawn anew for every epoch on the device where the scores are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core import derive_seed
from diffmg.tasks.moving import Movable

GAMMA = 0x9E3779B97F4A7C15 - 2**64
MIXERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
"""Constants of splitmix64 (Steele, Lea and Flood, 2014), as signed numbers."""


def chances(count: int, epoch: Tensor, seed: int, *purpose: object) -> Tensor:
    """Numbers in [0, 1), (count,), that follow from seed, purpose and epoch alone, on every device.

    They are hashed from a counter, so no generator has a state that a checkpoint would have to keep.
    """
    start = derive_seed(seed, "negatives", *purpose) % 2**62
    x = (torch.arange(count, device=epoch.device) + epoch.long() * count + 1) * GAMMA + start
    x = (x ^ _shifted(x, 30)) * MIXERS[0]
    x = (x ^ _shifted(x, 27)) * MIXERS[1]
    return _shifted(x ^ _shifted(x, 31), 11).double() / 2**53


def _shifted(x: Tensor, bits: int) -> Tensor:
    """A shift to the right that brings in zeros."""
    shifted: Tensor = (x >> bits) & (2 ** (64 - bits) - 1)
    return shifted


@dataclass(frozen=True)
class Negatives(Movable):
    """The pairs (user, item) that are not known, each with a number of its own, so that any can be drawn directly."""

    before: Tensor
    """For each known pair, by user and item, how many unknown pairs come before it."""
    first: Tensor
    """For each user, the number of its first unknown pair."""
    count: Tensor
    """For each user, how many items it does not know."""
    disliked: Tensor
    """Items that were disliked, by user."""
    disliked_first: Tensor
    """For each user, the place of its first one among them."""
    disliked_count: Tensor
    items: int

    @classmethod
    def build(cls, known: sp.csr_matrix, disliked: sp.csr_matrix) -> Negatives:
        """From marks (users, items) of what is known, and of the part of it that was disliked."""
        users, items = known.shape
        rows, columns = known.nonzero()
        codes = np.sort(rows.astype(np.int64) * items + columns)
        degree = np.bincount(rows, minlength=users)
        first = np.arange(users, dtype=np.int64) * items - (np.cumsum(degree) - degree)
        low = sp.csr_matrix(disliked)
        unknown = (codes - np.arange(len(codes)), first, items - degree)
        hard = (low.indices.astype(np.int64), low.indptr[:-1].astype(np.int64), np.diff(low.indptr).astype(np.int64))
        before, start, count, *rest = (torch.from_numpy(table) for table in (*unknown, *hard))
        return cls(before, start, count, rest[0], rest[1], rest[2], items)

    def draw(self, users: Tensor, epoch: Tensor, seed: int, hard: float = 0.0) -> Tensor:
        """For each user, an item it does not know, all equally likely; a share `hard` is items it disliked, if any.

        A user who knows every item gets any of them; `has_any` tells.
        """
        among = self.count[users]
        place = (chances(len(users), epoch, seed) * among).long().clamp(max=(among - 1).clamp(min=0))
        number = self.first[users] + place
        drawn = number + torch.searchsorted(self.before, number, right=True) - users * self.items
        drawn = drawn.clamp(0, self.items - 1)
        return self._harder(drawn, users, epoch, seed, hard) if hard and len(self.disliked) else drawn

    def has_any(self, users: Tensor) -> Tensor:
        """Whether there is an item that a user does not know."""
        return self.count[users] > 0

    def _harder(self, drawn: Tensor, users: Tensor, epoch: Tensor, seed: int, hard: float) -> Tensor:
        among = self.disliked_count[users]
        place = self.disliked_first[users] + (chances(len(users), epoch, seed, "which") * among).long()
        taken = (chances(len(users), epoch, seed, "hard") < hard) & (among > 0)
        return torch.where(taken, self.disliked[place.clamp(max=len(self.disliked) - 1)], drawn)
