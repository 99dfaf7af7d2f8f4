"""The best items of each user: scores are computed block by block, and equal scores are ordered by item number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]
Top = tuple[Ints, NDArray[np.float32]]
"""For each user, items and their scores, best first."""
Scorer = Callable[[Tensor, slice], Tensor]
"""Scores of a range of items for some users, (users, items), in memory of their own."""

HOST_CELLS, CARD_CELLS = 3 * 2**19, 2**26
"""Scores that are held at a time on the host and on a GPU."""
LEAST_USERS = 128
"""Users of a block, so that a product of matrices is worth its start; items come in blocks where there are many."""
LOW = 2**32 - 1
SIGN = 2**31 - 1


@dataclass(frozen=True)
class TopItems:
    """Finds the k best of `count` items for any users."""

    scored: Scorer
    count: int
    k: int
    device: torch.device
    hidden: sp.csr_matrix | None = None
    """Marks (users, items) of what has score -inf, so that it comes last."""
    numbers: Ints | None = None
    """What the items are called, ascending; by default 0, 1, ..."""

    @torch.no_grad()
    def of(self, users: Ints) -> Top:
        """The k best items of each user (or all, if there are fewer), best first."""
        size = self._block()
        width, chunk = min(self.k, self.count), max(1, self._cells // max(1, size))
        found = [torch.empty((0, width), dtype=torch.int64, device=self.device)]
        found += [self._keys(users[start : start + chunk], size) for start in range(0, len(users), chunk)]
        items, scores = decoded(torch.cat(found))
        places = items.numpy(force=True)
        return places if self.numbers is None else self.numbers[places], scores.numpy(force=True)

    @property
    def _cells(self) -> int:
        return HOST_CELLS if self.device.type == "cpu" else CARD_CELLS

    def _block(self) -> int:
        """Items of a block, all blocks about as large."""
        most = max(1, self._cells // LEAST_USERS)
        return math.ceil(self.count / max(1, math.ceil(self.count / most)))

    def _keys(self, users: Ints, size: int) -> Tensor:
        """Keys of the best items, (users, k)."""
        rows = torch.from_numpy(users).to(self.device)
        hidden = None if self.hidden is None else self.hidden[users].tocoo()
        best = torch.empty((len(users), 0), dtype=torch.int64, device=self.device)
        for first, last in self._ranges(size):
            scores = self.scored(rows, slice(first, last)).float()
            if hidden is not None:
                inside = (hidden.col >= first) & (hidden.col < last)
                places = (hidden.row[inside], hidden.col[inside] - first)
                scores[tuple(torch.from_numpy(p.astype(np.int64)).to(self.device) for p in places)] = -torch.inf
            best = torch.cat([best, best_keys(scores, self.k, first)], dim=1)
            best = best.topk(min(self.k, best.shape[1]), dim=1).values
        return best

    def _ranges(self, size: int) -> Iterator[tuple[int, int]]:
        return ((first, min(first + size, self.count)) for first in range(0, self.count, max(1, size)))


def best_keys(scores: Tensor, k: int, first: int = 0) -> Tensor:
    """Keys of the k best columns of each row, best first; columns are numbered from `first`.

    The k best columns lie in the k best groups of neighbouring columns, a group being as good as its best column: every
    better group has a better column. So one maximum over all columns leaves few to be ordered.
    """
    columns = scores.shape[1]
    size = math.isqrt(columns // k)
    if size < 2:
        numbers = torch.arange(first, first + columns, device=scores.device)
        return keys_of(scores, numbers.expand_as(scores)).topk(min(k, columns), dim=1).values
    groups = _groups(scores, size).topk(k, dim=1).values
    columns_of = decoded(groups)[0].unsqueeze(2) * size + torch.arange(size, device=scores.device)
    places = columns_of.flatten(1)
    values = scores.gather(1, places.clamp(max=columns - 1)).masked_fill_(places >= columns, -torch.inf)
    return keys_of(values, places + first).topk(k, dim=1).values


def _groups(scores: Tensor, size: int) -> Tensor:
    """A key for each group of neighbouring columns: its number, by its largest score; the last one may be smaller."""
    count = scores.shape[1] // size
    whole = count * size
    largest = scores[:, :whole].view(len(scores), count, size).amax(dim=2)
    if whole < scores.shape[1]:
        largest = torch.cat([largest, scores[:, whole:].amax(dim=1, keepdim=True)], dim=1)
    return keys_of(largest, torch.arange(largest.shape[1], device=scores.device).expand_as(largest))


def keys_of(values: Tensor, numbers: Tensor) -> Tensor:
    """Whole numbers in the order of single-precision values; among equal values, smaller `numbers` are larger keys.

    All keys of a row differ, so their order is the same whatever algorithm sorts them.
    """
    bits = (values + 0.0).view(torch.int32).long()  # -0.0 becomes 0.0, which it equals
    return ((bits ^ ((bits >> 31) & SIGN)) << 32) | (LOW - numbers)


def decoded(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers and the values of keys."""
    bits = keys >> 32
    values = (bits ^ ((bits >> 31) & SIGN)).int().view(torch.float32)
    return LOW - (keys & LOW), values
