"""The meta paths of a meta graph, counted and listed without writing all of them out: there may be millions."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation

MetaPath = tuple[Relation, ...]
MOST_LISTED = 200_000
"""The most meta paths that are ever listed at once."""
MOST_PLACES = 50_000
"""The most places that are visited to count meta paths."""


class Place(NamedTuple):
    """Where a path read backwards from the target has come to: a node type, and the states it may be in."""

    node_type: str
    states: frozenset[int]


@dataclass(frozen=True)
class MetaPaths:
    """Paths as a tree whose root is the target: each step goes back along a relation, and each place ends a path."""

    target: str
    links: tuple[tuple[tuple[int, tuple[Relation, ...]], ...], ...]
    """For each state, the earlier states with a message into it, and the relations on that link."""

    @cached_property
    def _within(self) -> tuple[frozenset[int], ...]:
        """For each state, those that reach it unchanged, itself included; none where nothing comes from state 0."""
        found = [frozenset({0})]
        for k in range(1, len(self.links)):
            earlier = frozenset[int]().union(*(found[i] for i, _ in self.links[k]))
            found.append(earlier | {k} if earlier else earlier)
        return tuple(found)

    @property
    def root(self) -> Place | None:
        """The target in the last state; None if nothing reaches it."""
        states = self._within[-1]
        return Place(self.target, states) if states else None

    def steps(self, place: Place) -> dict[Relation, Place]:
        """One step further back: the relations into a place, in order, and where they come from."""
        found: dict[Relation, set[int]] = {}
        for k in place.states:
            for i, relations in self.links[k]:
                for relation in relations:
                    if relation.target == place.node_type and self._within[i]:
                        found.setdefault(relation, set()).update(self._within[i])
        return {r: Place(r.source, frozenset(found[r])) for r in sorted(found)}

    def __iter__(self) -> Iterator[MetaPath]:
        """All paths, the shortest first; relations are in message order."""
        todo: deque[tuple[MetaPath, Place]] = deque([((), self.root)] if self.root else [])
        while todo:
            path, place = todo.popleft()
            yield path
            todo.extend(((relation, *path), before) for relation, before in self.steps(place).items())

    def __contains__(self, path: object) -> bool:
        place = self.root
        for relation in reversed(path if isinstance(path, tuple) else ()):
            place = self.steps(place).get(relation) if place else None
        return isinstance(path, tuple) and place is not None

    def count(self) -> int | None:
        """How many there are; None if even counting them would take too long."""
        return self._count(leaves=False)

    def count_longest(self) -> int | None:
        """How many of them end no other path; None if even counting them would take too long."""
        return self._count(leaves=True)

    def _count(self, *, leaves: bool) -> int | None:
        counts: dict[Place, int] = {}
        todo = [self.root] if self.root else []
        while todo:
            place = todo[-1]
            steps = self.steps(place).values()
            missing = [before for before in steps if before not in counts]
            if missing:
                todo += missing
                if len(counts) + len(todo) > MOST_PLACES:
                    return None
            else:
                counts[todo.pop()] = sum(counts[before] for before in steps) + (not (leaves and steps))
        return counts[self.root] if self.root else 0

    def longest(self, most: int) -> list[MetaPath]:
        """Up to `most` of the paths that end no other one, the longest first."""
        if most < 1:
            raise DiffmgError(f"`most >= 1` must hold, but got most={most!r}")
        return list(islice(self._by_length(), most))

    def _by_length(self) -> Iterator[MetaPath]:
        """Paths that end no other one; what a path may still become decides which is followed first."""
        if self.root is None:
            return
        heap: list[tuple[int, MetaPath, Place]] = [(-self._length(self.root), (), self.root)]
        while heap:
            _, back, place = heapq.heappop(heap)
            steps = self.steps(place)
            if not steps:
                yield back[::-1]
            for relation, before in steps.items():
                heapq.heappush(heap, (-len(back) - 1 - self._length(before), (*back, relation), before))

    def _length(self, place: Place) -> int:
        """The most steps that may be taken from a place."""
        return max(self._lengths[k].get(place.node_type, 0) for k in place.states)

    @cached_property
    def _lengths(self) -> tuple[dict[str, int], ...]:
        """For each state, the most steps back from each node type; types that are not named have none."""
        found: list[dict[str, int]] = [{}]
        for links in self.links[1:]:
            most: dict[str, int] = {}
            for i, relations in links:
                if self._within[i]:
                    onward = [*found[i].items(), *((r.target, 1 + found[i].get(r.source, 0)) for r in relations)]
                    for node_type, length in onward:
                        most[node_type] = max(length, most.get(node_type, 0))
            found.append(most)
        return tuple(found)
