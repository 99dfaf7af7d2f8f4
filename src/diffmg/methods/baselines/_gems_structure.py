"""Meta structures of GEMS: typed slots between an item and a user, joined by relations; how they grow and shrink."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from diffmg.core import EMPTY, Link, MetaGraph, Relation, Schema
from diffmg.core.metagraph import links_of

TRIES = 100
"""Random additions after which growing is given up."""


class Edge(NamedTuple):
    """A relation from slot i to a later slot k."""

    i: int
    k: int
    relation: Relation


Path = tuple[Edge, ...]


@dataclass(frozen=True, order=True)
class Structure:
    """A directed acyclic graph of slots; the first slot is an item, the last a user, and every edge is on a path."""

    slots: tuple[str, ...]
    """The node type of each slot."""
    edges: tuple[Edge, ...]
    """Sorted; at most one between two slots."""

    @classmethod
    def along(cls, path: Iterable[Relation]) -> Structure:
        """A meta path."""
        relations = tuple(path)
        slots = (*(r.source for r in relations), relations[-1].target)
        return cls(slots, tuple(Edge(n, n + 1, r) for n, r in enumerate(relations)))

    @classmethod
    def of(cls, metagraph: MetaGraph) -> Structure:
        """Read from a meta graph whose states are the slots."""
        edges = [Edge(link.i, link.k, o) for link, o in metagraph.choices if isinstance(o, Relation)]
        types = {e.i: e.relation.source for e in edges} | {e.k: e.relation.target for e in edges}
        return cls(tuple(types[n] for n in range(metagraph.depth + 1)), tuple(sorted(edges)))

    def metagraph(self) -> MetaGraph:
        """As a meta graph: slots are states, edges are operations, all other links are empty."""
        relations = {Link(e.k, e.i): e.relation for e in self.edges}
        links = links_of(len(self.slots) - 1)
        return MetaGraph.of(self.slots[-1], {link: relations.get(link, EMPTY) for link in links})

    def paths(self) -> list[Path]:
        """All paths from the item to the user."""
        found: list[Path] = []
        waiting: list[Path] = [(e,) for e in self.edges if e.i == 0]
        while waiting:
            path = waiting.pop()
            if path[-1].k == len(self.slots) - 1:
                found.append(path)
            waiting += [(*path, e) for e in self.edges if e.i == path[-1].k]
        return found

    def pruned(self) -> Structure:
        """Only what is on a path; slots are renumbered."""
        edges = {e for path in self.paths() for e in path}
        used = sorted({n for e in edges for n in (e.i, e.k)})
        place = {n: new for new, n in enumerate(used)}
        moved = sorted(Edge(place[e.i], place[e.k], e.relation) for e in edges)
        return Structure(tuple(self.slots[n] for n in used), tuple(moved))

    def addable(self, schema: Schema) -> list[Edge]:
        """Edges of the schema between slots that have none."""
        taken = {(e.i, e.k) for e in self.edges}
        pairs = [pair for pair in combinations(range(len(self.slots)), 2) if pair not in taken]
        ends = [(i, k, (self.slots[i], self.slots[k])) for i, k in pairs]
        return [Edge(i, k, r) for i, k, types in ends for r in schema.relations if (r.source, r.target) == types]

    def with_edge(self, edge: Edge) -> Structure:
        """The structure with one more edge."""
        return Structure(self.slots, tuple(sorted((*self.edges, edge))))

    def with_slot(self, place: int, node_type: str) -> Structure:
        """The structure with a new slot, not joined to any other, before the one at `place`."""
        edges = (Edge(e.i + (e.i >= place), e.k + (e.k >= place), e.relation) for e in self.edges)
        return Structure((*self.slots[:place], node_type, *self.slots[place:]), tuple(edges))


def shortest(schema: Schema, item: str, user: str) -> Structure | None:
    """The shortest meta path from items to users, the first in the schema's order; None if there is none."""
    ways: list[tuple[Relation, ...]] = [(r,) for r in schema.relations if r.source == item]
    for _ in schema.node_types:
        for way in ways:
            if way[-1].target == user:
                return Structure.along(way)
        ways = [(*way, r) for way in ways for r in schema.relations if r.source == way[-1].target and r not in way]
    return None


def grown(structure: Structure, schema: Schema, most: int, add_slot: float, rng: random.Random) -> Structure:
    """Random slots and edges are added until there is one more path; what is on no path is dropped.

    Unchanged if that takes too many tries.
    """
    larger, before = structure, len(structure.paths())
    for _ in range(TRIES):
        if len(larger.slots) < most and rng.random() < add_slot:
            larger = _with_random_slot(larger, schema, rng)
        elif edges := larger.addable(schema):
            larger = larger.with_edge(rng.choice(edges))
        if len(larger.paths()) > before:
            return larger.pruned()
    return structure


def _with_random_slot(structure: Structure, schema: Schema, rng: random.Random) -> Structure:
    """A new slot of any type, joined to one other; unchanged if the schema joins it to none."""
    place = rng.randrange(1, len(structure.slots))
    larger = structure.with_slot(place, rng.choice(schema.node_types))
    edges = [e for e in larger.addable(schema) if place in (e.i, e.k)]
    return larger.with_edge(rng.choice(edges)) if edges else structure


def shrunk(structure: Structure, rng: random.Random) -> Structure:
    """A random path is cut at the edge that the fewest paths use; unchanged if there is one path only."""
    paths = structure.paths()
    if len(paths) < 2:
        return structure
    uses = Counter(e for path in paths for e in path)
    cut = min(rng.choice(paths), key=lambda e: uses[e])
    return Structure(structure.slots, tuple(e for e in structure.edges if e != cut)).pruned()
