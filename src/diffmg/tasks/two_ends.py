"""Shared by tasks on pairs of users and items: checks against the network, recommendations, and their table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Task
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers, free_names
from diffmg.tasks.dot_products import dot_products
from diffmg.tasks.top_items import Ints, Scorer, Top, TopItems

STREAMED = 1024
"""Users whose answers are held at a time."""


class PairTask(Task):
    """A task on pairs of users and items; a subclass is a frozen dataclass."""

    user: str
    item: str
    shape: tuple[int, int]

    @property
    def target_types(self) -> tuple[str, ...]:
        """The user type and the item type."""
        return (self.user, self.item)

    @property
    def outputs(self) -> int:
        """0: there is no head, the towers' representations are compared directly."""
        return 0

    @abstractmethod
    def hidden(self, *, exclude_seen: bool) -> sp.csr_matrix | None:
        """Marks (users, items) of what is not recommended; `exclude_seen` adds what users are known to have chosen."""

    def scorer(self, outputs: Sequence[Tensor], items: Tensor | None = None) -> Scorer:
        """Scores of pairs: the dot product of the two towers; `items` keeps those with these numbers."""
        z_user, z_item = outputs
        return dot_products(z_user, z_item if items is None else z_item[items])

    def top(self, outputs: tuple[Tensor, ...], users: Ints, k: int, exclude: sp.csr_matrix | None) -> Top:
        """The k best items for each user (or all, if there are fewer), best first, with their scores.

        Excluded items have score -inf; they appear only if a user has fewer than k others.
        """
        return TopItems(self.scorer(outputs), self.shape[1], k, outputs[0].device, exclude).of(users)

    def recommender(
        self, outputs: tuple[Tensor, ...], k: int = 10, *, exclude_seen: bool = True, items: Ints | None = None
    ) -> TopItems:
        """Finds the k best items of any user; `exclude_seen` as in `hidden`, `items`: numbers of allowed ones."""
        if k < 1:
            raise DiffmgError(f"`k >= 1` must hold, but got k={k}")
        for z, node_type in zip(outputs, self.target_types, strict=True):
            broken = int((~z.isfinite()).any(dim=1).sum())
            if broken:
                raise DiffmgError(f"representations must be finite, but got {broken} {node_type!r} nodes with others")
        hidden, device = self.hidden(exclude_seen=exclude_seen), outputs[0].device
        if items is None:
            return TopItems(self.scorer(outputs), self.shape[1], k, device, hidden)
        kept = np.unique(items)
        hidden = None if hidden is None else hidden[:, kept]
        return TopItems(self.scorer(outputs, torch.from_numpy(kept).to(device)), len(kept), k, device, hidden, kept)

    def recommend(self, outputs: tuple[Tensor, ...], users: Ints, k: int = 10, **options: Any) -> Top:
        """The k best items of each user; options as in `recommender`."""
        return self.recommender(outputs, k, **options).of(users)

    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """The best items of each user, best first; options as in `recommender`, with ids of allowed `items`."""
        users, top = self._asked(outputs, graph, ids, **options)
        return table_of(graph, self.target_types, users, *top.of(users))

    def stream(
        self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any
    ) -> Iterator[Answers]:
        """`answers`, some users at a time: memory does not grow with their number."""
        users, top = self._asked(outputs, graph, ids, **options)
        for start in range(0, max(1, len(users)), STREAMED):
            some = users[start : start + STREAMED]
            yield table_of(graph, self.target_types, some, *top.of(some))

    def _asked(
        self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any, items: Any = None, **options: Any
    ) -> tuple[Ints, TopItems]:
        """Whom to answer, and how."""
        users = np.arange(self.shape[0]) if ids is None else graph.index_of(self.user, ids)
        allowed = None if items is None else graph.index_of(self.item, items)
        return users, self.recommender(outputs, items=allowed, **options)

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


def table_of(
    graph: HeteroGraph, types: tuple[str, ...], users: Ints, items: Ints, scores: NDArray[np.float32]
) -> Answers:
    """The best items as a table with the user's ids; what has score -inf is left out."""
    shown = scores > -np.inf
    ranks = np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape)
    rows = np.broadcast_to(users[:, None], scores.shape)
    ids = [graph.ids_of(t)[numbers[shown]] for t, numbers in zip(types, (rows, items), strict=True)]
    rank, score = free_names(("rank", "score"), types)
    return Answers({types[0]: ids[0], rank: ranks[shown], types[1]: ids[1], score: scores[shown]})


def marks(rows: Ints, shape: tuple[int, int]) -> sp.csr_matrix:
    """Ones (users, items) at the pairs (user, item)."""
    found = sp.csr_matrix((np.ones(len(rows), np.int32), (rows[:, 0], rows[:, 1])), shape=shape)
    found.sort_indices()
    return found
