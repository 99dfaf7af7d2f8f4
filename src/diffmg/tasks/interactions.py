"""Interactions of one part of a ranking: what was liked and disliked, and what a loss and a score need of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from diffmg.tasks.moving import Movable
from diffmg.tasks.negatives import Negatives
from diffmg.tasks.pairs import Pairs
from diffmg.tasks.ranks import Wanted
from diffmg.tasks.two_ends import marks

Ints = NDArray[np.int64]
Objective = Literal["bpr", "softmax"]
VOTES = 2**23
"""Most numbers of a model's votes: the scores of all items for as many users as this allows, drawn at random."""
WATCHED = 2048
"""Most users whose rankings are scored after every epoch of training, drawn at random."""


@dataclass(frozen=True)
class Contrast:
    """How a liked item is told from others in the loss."""

    objective: Objective = "bpr"
    negatives: int = 1
    """Items drawn against each liked one, in every epoch."""
    hard: float = 0.0
    """Share of them that are items the user disliked."""


@dataclass(frozen=True)
class Interactions(Movable):
    """Liked and disliked pairs of one part; `negatives` and `wanted` know those of earlier parts too."""

    pairs: Pairs
    """The liked ones."""
    disliked: Tensor
    """Rows (user, item)."""
    negatives: Negatives
    wanted: Wanted
    voters: Wanted
    """The users whose rankings a model of an ensemble votes with: all, or as many as are kept in memory."""
    watched: Wanted
    """The users whose rankings tell which epoch of a training is the best."""

    @classmethod
    def build(cls, liked: Ints, disliked: Ints, earlier: sp.csr_matrix) -> Interactions:
        """From rows (user, item), and marks (users, items) of what is known before."""
        own, low = marks(liked, earlier.shape), marks(disliked, earlier.shape)
        wanted = Wanted.build(own, earlier)
        return cls(
            Pairs.build(liked, *earlier.shape)[0],
            torch.from_numpy(disliked[np.lexsort(disliked.T[::-1])]),
            Negatives.build(sp.csr_matrix(earlier + own + low), low),
            wanted,
            _some(wanted, own, earlier, max(1, VOTES // own.shape[1])),
            _some(wanted, own, earlier, WATCHED),
        )

    def rows(self) -> tuple[Ints, Ints]:
        """The liked and the disliked pairs."""
        liked = torch.stack([self.pairs.left, self.pairs.right], dim=1).long()
        return liked.numpy(force=True), self.disliked.numpy(force=True)

    def loss(self, outputs: tuple[Tensor, ...], contrast: Contrast, epoch: Tensor, seed: int) -> Tensor:
        """How far items that were drawn are not behind the liked ones: sums over those of a user, averaged over users.

        BPR (Rendle et al., 2009) compares with each of them, a sampled softmax with all together. Users who know every
        item are left out. A mean over pairs would let the same weight decay pull the harder, the more pairs there are.
        """
        users, times = self.pairs.left.long(), contrast.negatives
        items = self.negatives.draw(users.repeat_interleave(times), epoch, seed, contrast.hard)
        others = self.pairs.redrawn(items, times).scores(*outputs).view(-1, times)
        ahead = others - self.pairs.scores(*outputs).unsqueeze(1)
        if contrast.objective == "bpr":
            each = F.softplus(ahead).mean(dim=1)
        else:
            each = torch.cat([torch.zeros_like(ahead[:, :1]), ahead], dim=1).logsumexp(dim=1)
        return torch.where(self.negatives.has_any(users), each, 0.0).sum() / max(1, len(self.wanted.users))


def _some(wanted: Wanted, own: sp.csr_matrix, earlier: sp.csr_matrix, most: int) -> Wanted:
    """What at most so many users want, drawn at random."""
    users = wanted.users.numpy()
    if len(users) <= most:
        return wanted
    chosen = np.random.default_rng(0).choice(users, most, replace=False)
    return Wanted.build(own, earlier, np.sort(chosen))
