"""Scores of pairs: the dot products of the representations of users and items."""

from __future__ import annotations

from torch import Tensor

from diffmg.graph.sparse import product
from diffmg.tasks.top_items import Scorer

WIDE = 512
"""Columns from which on it is looked whether most of them are zero."""
LOOKED_AT = 256
"""Users of which that is asked."""
FEW = 1 / 32
"""Share of numbers other than zero up to which a sparse product is faster on a CPU."""


def dot_products(z_user: Tensor, z_item: Tensor) -> Scorer:
    """Scores of users and a range of items.

    Methods that weigh items by items, such as EASE, have a row of chosen items for each user, nearly all of it zeros.
    """
    if z_user.is_cpu and z_user.shape[1] >= WIDE and _share_of_numbers(z_user) <= FEW:
        return _of_few_numbers(z_user, z_item)
    return lambda users, some: z_user[users] @ z_item[some].T


def _share_of_numbers(z: Tensor) -> float:
    some = z[:: max(1, len(z) // LOOKED_AT)]
    return some.count_nonzero().item() / max(1, some.numel())


def _of_few_numbers(z_user: Tensor, z_item: Tensor) -> Scorer:
    columns: dict[tuple[int | None, int | None], Tensor] = {}

    def scored(users: Tensor, some: slice) -> Tensor:
        where = some.start, some.stop
        if where not in columns:
            columns[where] = z_item[some].T.contiguous()
        return product(z_user[users].to_sparse_csr(), columns[where])

    return scored
