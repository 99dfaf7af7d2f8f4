"""Shared by tasks on pairs of users and items: checks against the network, best items, and their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Task
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers

Ints = NDArray[np.int64]
Top = tuple[Ints, NDArray[np.float32]]
"""For each user, items and their scores, best first."""


class PairTask(Task):
    """A task on pairs of users and items; a subclass is a frozen dataclass."""

    user: str
    item: str

    @property
    def target_types(self) -> tuple[str, ...]:
        """The user type and the item type."""
        return (self.user, self.item)

    @property
    def outputs(self) -> int:
        """0: there is no head, the towers' representations are compared directly."""
        return 0

    def answer_of(self, outputs: tuple[Tensor, ...], nodes: tuple[int, ...]) -> tuple[Tensor, str]:  # noqa: ARG002
        """The score of the pair."""
        score = (outputs[0][0] * outputs[1][0]).sum()
        return score, f"score {score.item():.4g}"


def check_counts(graph: HeteroGraph, types: tuple[str, ...], shape: tuple[int, int]) -> None:
    """Both types must exist, with as many nodes as the task has users and items."""
    for node_type, count in zip(types, shape, strict=True):
        if graph.num_nodes[graph.schema.check_type(node_type)] != count:
            raise DiffmgError(f"the task is for {count} {node_type!r} nodes, but got {graph.num_nodes[node_type]}")


def check_no_edges(
    graph: HeteroGraph, types: tuple[str, ...], pairs: tuple[Ints, Ints], exempt: Sequence[str] = ()
) -> None:
    """No pair may be an edge, in either direction, but for relations that are exempt."""
    users, items = pairs
    for relation in graph.schema.relations:
        if {relation.source, relation.target} != set(types) or relation.name in exempt:
            continue
        leaked = graph.has_edges(relation, *((users, items) if relation.source == types[0] else (items, users)))
        if leaked.any():
            first = int(np.flatnonzero(leaked)[0])
            raise DiffmgError(
                f"a supervised pair must not be an edge, or its answer leaks, but got {int(leaked.sum())} pairs in "
                f"'{relation}', such as ({users[first]}, {items[first]}); remove them in both directions, or name "
                "the relation in `exempt` if it is known before the pair is decided"
            )


def top_items(
    scored: Callable[[Tensor], Tensor],
    users: Ints,
    width: int,
    exclude: sp.csr_matrix | None,
    device: torch.device,
    chunk: int,
) -> Top:
    """The best items for each user by `scored(users)`, `chunk` users at a time; excluded items have score -inf."""
    items, values = [np.empty((0, width), np.int64)], [np.empty((0, width), np.float32)]
    for start in range(0, len(users), chunk):
        some = users[start : start + chunk]
        scores = scored(torch.from_numpy(some).to(device))
        if exclude is not None:
            rows, columns = exclude[some].nonzero()
            scores[torch.from_numpy(rows), torch.from_numpy(columns)] = -torch.inf
        best = scores.topk(width, dim=1)
        items.append(best.indices.numpy(force=True))
        values.append(best.values.numpy(force=True))
    return np.concatenate(items), np.concatenate(values)


def table_of(
    graph: HeteroGraph, types: tuple[str, ...], users: Ints, items: Ints, scores: NDArray[np.float32]
) -> Answers:
    """The best items as a table with the user's ids; what has score -inf is left out."""
    shown = scores > -np.inf
    ranks = np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape)
    rows = np.broadcast_to(users[:, None], scores.shape)
    ids = [graph.ids_of(t)[numbers[shown]] for t, numbers in zip(types, (rows, items), strict=True)]
    return Answers({types[0]: ids[0], "rank": ranks[shown], types[1]: ids[1], "score": scores[shown]})


def marks(rows: Ints, shape: tuple[int, int]) -> sp.csr_matrix:
    """Ones (users, items) at the pairs (user, item)."""
    found = sp.csr_matrix((np.ones(len(rows), np.int32), (rows[:, 0], rows[:, 1])), shape=shape)
    found.sort_indices()
    return found
