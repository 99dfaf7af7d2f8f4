"""Places of wanted items among all items, exact and in blocks of users, and the scores of a ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.tasks.moving import Movable

NUMBERS = 2**22
"""Most scores that are in memory at a time."""

Scored = Callable[[int, int], Tensor]
"""The scores of all items for the users with these places, first to last but one; may be written to."""


class Block(NamedTuple):
    """Users that are ranked together, and where what is wanted and what is known of them starts and ends."""

    users: tuple[int, int]
    wanted: tuple[int, int]
    known: tuple[int, int]


@dataclass(frozen=True)
class Wanted(Movable):
    """The held-out items of each user that has any, and the items that are left out of its ranking."""

    users: Tensor
    row: Tensor
    """For each wanted item, the place of its user among `users`, ascending."""
    item: Tensor
    count: Tensor
    """For each user, how many items are wanted."""
    known_row: Tensor
    known_item: Tensor
    items: int
    blocks: tuple[Block, ...]

    @classmethod
    def build(cls, wanted: sp.csr_matrix, known: sp.csr_matrix, users: NDArray[np.int64] | None = None) -> Wanted:
        """From marks (users, items); for these users, or for all that want something."""
        chosen = np.flatnonzero(np.diff(wanted.indptr)) if users is None else users
        own, hidden = sp.csr_matrix(wanted[chosen]), sp.csr_matrix(known[chosen])
        (row, item), (known_row, known_item) = own.nonzero(), hidden.nonzero()
        items, size = wanted.shape[1], max(1, NUMBERS // max(1, wanted.shape[1]))
        ends = [(start, min(start + size, len(chosen))) for start in range(0, len(chosen), size)]
        blocks = [Block(e, *((int(m.indptr[e[0]]), int(m.indptr[e[1]])) for m in (own, hidden))) for e in ends]
        arrays = (chosen, row, item, np.diff(own.indptr), known_row, known_item)
        tables = [torch.from_numpy(np.asarray(a, np.int64)) for a in arrays]
        return cls(tables[0], tables[1], tables[2], tables[3], tables[4], tables[5], items, tuple(blocks))

    def ranks(self, scored: Scored, within: int | None = None) -> Tensor:
        """The place of each wanted item among all items but the known ones, from 0; tied items share their mean place.

        With `within`, only places before it are exact; of the others it is only sure that they are not before it. On a
        CPU that saves most of the work. NaN where scores are not numbers.
        """
        found = [torch.empty(0, dtype=torch.float64, device=self.row.device)]
        for block in self.blocks:
            scores = scored(*block.users)
            lost = scores.sum().isnan()
            first, known, pairs = block.users[0], slice(*block.known), slice(*block.wanted)
            scores[self.known_row[known] - first, self.known_item[known]] = -torch.inf
            places = self._places(scores, self.row[pairs] - first, self.item[pairs], within)
            found.append(torch.where(lost, torch.nan, places))
        return torch.cat(found)

    def _places(self, scores: Tensor, row: Tensor, item: Tensor, within: int | None) -> Tensor:
        """The places of items of one block."""
        own = scores[row, item]
        places = torch.full_like(own, self.items, dtype=torch.float64)
        for some in torch.split(_near(scores, row, own, within), max(1, NUMBERS // self.items)):
            above = scores.index_select(0, row[some]).sub_(own[some].unsqueeze(1)).sign_().sum(dim=1)
            places.index_copy_(0, some, (above.double() + self.items - 1) / 2)
        return places

    def best(self, ranks: Tensor) -> Tensor:
        """The best place of each user."""
        return ranks.new_full((len(self.users),), torch.inf).scatter_reduce(0, self.row, ranks, "amin")


def _near(scores: Tensor, row: Tensor, own: Tensor, within: int | None) -> Tensor:
    """The numbers of the items whose places may be before `within`.

    The k-th best of the best scores of groups of items is a score that at least k items reach; an item below it has
    them all before it. A GPU compares all, since reading back which ones to compare would take longer.
    """
    columns = scores.shape[1]
    size = math.isqrt(columns // within) if within is not None and scores.is_cpu else 0
    if within is None or size < 2:
        return torch.arange(len(row), device=row.device)
    groups = scores[:, : columns // size * size].view(len(scores), size, columns // size)
    level = groups.amax(dim=1).topk(within, dim=1).values[:, -1]
    return torch.nonzero(own >= level[row]).flatten()


def ndcg(wanted: Wanted, ranks: Tensor, k: int) -> Tensor:
    """Mean over users of the discounted gain of the first k items over the best possible."""
    places = torch.arange(2, min(k, wanted.items) + 2, device=ranks.device, dtype=torch.float64)
    best = (1 / places.log2()).cumsum(0)[wanted.count.clamp(1, len(places)) - 1]
    gains = torch.where(ranks < k, 1 / (ranks + 2).log2(), 0.0) / best[wanted.row]
    return gains.sum() / len(wanted.users)


def recall(wanted: Wanted, ranks: Tensor, k: int) -> Tensor:
    """Mean over users of the share of wanted items among the first k."""
    return ((ranks < k) / wanted.count[wanted.row]).sum() / len(wanted.users)


def hit_rate(wanted: Wanted, ranks: Tensor, k: int) -> Tensor:
    """Share of users with a wanted item among the first k."""
    return (wanted.best(ranks) < k).double().mean()


def mrr(wanted: Wanted, ranks: Tensor, k: int) -> Tensor:  # noqa: ARG001
    """Mean over users of one over the place, from 1, of the first wanted item."""
    return (1 / (wanted.best(ranks) + 1)).mean()


SCORES: Mapping[str, Callable[[Wanted, Tensor, int], Tensor]] = {
    "ndcg": ndcg,
    "recall": recall,
    "hit_rate": hit_rate,
    "mrr": mrr,
}
"""Scores of a ranking by name; each takes what is wanted, its ranks, and the length of the list."""


def reach(name: str, k: int) -> int | None:
    """The place from which on a score does not ask where an item stands; None where it always does."""
    return None if name == "mrr" else k


def score(name: str, wanted: Wanted, ranks: Tensor, k: int) -> Tensor:
    """A score by name; NaN where a rank is: a model that diverged must not look good."""
    return torch.where(ranks.isnan().any(), torch.nan, SCORES[name](wanted, ranks, k).double())
