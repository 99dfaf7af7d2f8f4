"""Finding nodes by the ids of the user's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffmg.core import DiffmgError

if TYPE_CHECKING:
    from diffmg.graph.network import HeteroGraph

_ORDERS: WeakKeyDictionary[HeteroGraph, dict[str, NDArray[np.int64]]] = WeakKeyDictionary()
"""The order that sorts the ids of each type: found once, since a server looks up ids many times."""


def rows_of(graph: HeteroGraph, node_type: str, ids: ArrayLike) -> NDArray[np.int64]:
    """Node numbers of external ids; unknown ids raise."""
    wanted = np.atleast_1d(np.asarray(ids))
    known = graph.ids_of(node_type)
    order = _order_of(graph, node_type, known)
    try:
        place = np.searchsorted(known, wanted, sorter=order).clip(max=len(known) - 1)
        found = order[place]
        missing = wanted[known[found] != wanted]
    except (TypeError, np.exceptions.DTypePromotionError):
        missing = wanted
    if len(missing):
        raise DiffmgError(
            f"every id must be one of the {node_type!r} nodes of the network, but got {missing[:3].tolist()} "
            f"({len(missing)} unknown); ids look like {known[:3].tolist()}"
        )
    return np.asarray(found, np.int64)


def _order_of(graph: HeteroGraph, node_type: str, known: NDArray[Any]) -> NDArray[np.int64]:
    kept = _ORDERS.setdefault(graph, {})
    if node_type not in kept:
        kept[node_type] = np.argsort(known, kind="stable")
    return kept[node_type]
