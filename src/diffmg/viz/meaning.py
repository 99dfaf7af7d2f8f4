"""What a meta graph means: which node types are heard, along which relations, how many hops from the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from diffmg.core import MetaGraph, MetaPath, Relation
from diffmg.core.importance import PathImportance
from diffmg.viz.marks import Mark, Use, marks_of
from diffmg.viz.sentence import sentence_of
from diffmg.viz.words import relation_words

MOST_ARROWS = 24
"""The most arrows of one tower that are drawn."""
MOST_PATHS = 16
"""The most meta paths that are listed."""
LEAST_UNDRAWN, MOST_UNDRAWN = 0.02, 3
"""From which share on inputs that are not drawn are told of, and by how many relations."""


class Box(NamedTuple):
    """A node type, so many hops from the target; hop 0 is the target itself."""

    hop: int
    node_type: str


@dataclass(frozen=True)
class Arrow:
    """A relation that carries messages over the last `hop` hops to the target."""

    hop: int
    relation: Relation
    share: float | None
    """Part of the importance of all meta paths that goes along it; None if that was not measured."""

    @property
    def source(self) -> Box:
        """Where it begins."""
        return Box(self.hop, self.relation.source)

    @property
    def target(self) -> Box:
        """Where it ends."""
        return Box(self.hop - 1, self.relation.target)


@dataclass(frozen=True)
class HeardPath:
    """A meta path and its part of the importance of all; None if that was not measured."""

    path: MetaPath
    share: float | None


@dataclass(frozen=True)
class Tower:
    """What one target type hears."""

    target: str
    boxes: tuple[Box, ...]
    """By hop; none if nothing reaches the target."""
    arrows: tuple[Arrow, ...]
    """By hop."""
    more_arrows: int
    """How many arrows are not drawn because there are too many."""
    exact: bool
    """Whether every chain of arrows is a meta path: boxes are shared by all paths through a type at a hop."""
    paths: tuple[HeardPath, ...]
    """The first ones: by importance if it is known, else the shortest; a path comes after those that end it."""
    more_paths: int | None
    """How many paths are not listed; None if there are too many to count."""
    unused: tuple[Mark, ...]
    """Operations that pass the target's states on, or lead nowhere."""
    sentence: str
    own_share: float | None
    """The part of the importance that is the target's own input."""


@dataclass(frozen=True)
class Meaning:
    """What a model hears, one tower for each target type."""

    towers: tuple[Tower, ...]

    @property
    def sentence(self) -> str:
        """All towers in words."""
        return " ".join(tower.sentence for tower in self.towers)

    @property
    def node_types(self) -> tuple[str, ...]:
        """All types that are drawn, targets first."""
        boxes = sorted((b for tower in self.towers for b in tower.boxes), key=lambda box: box.hop)
        return tuple(dict.fromkeys([t.target for t in self.towers] + [box.node_type for box in boxes]))

    @property
    def measured(self) -> bool:
        """Whether the importance of paths is known."""
        return any(tower.own_share is not None for tower in self.towers)


Shares = Mapping[MetaPath, float]


def meaning_of(metagraphs: Sequence[MetaGraph], importances: Iterable[PathImportance] = ()) -> Meaning:
    """The meaning of meta graphs; importances of their paths, where known, decide widths, order and words."""
    known = list(importances)
    return Meaning(tuple(_tower(m, _shares([i for i in known if i.target == m.target])) for m in metagraphs))


def _shares(importances: Sequence[PathImportance]) -> Shares | None:
    """Each path's part of the sum of positive drops; None if no path has one."""
    drops = {i.path: max(i.drop, 0.0) for i in importances if i.drop == i.drop}
    total = sum(drops.values())
    return {path: drop / total for path, drop in drops.items()} if total > 0 else None


def _tower(metagraph: MetaGraph, shares: Shares | None) -> Tower:
    arrows = _arrows(metagraph, shares)
    drawn = _most_important(arrows)
    root = [Box(0, metagraph.target)] if metagraph.meta_paths.root else []
    boxes = dict.fromkeys([*root, *(a.source for a in drawn)])
    count = metagraph.meta_paths.count()
    paths = _first_paths(metagraph, shares)
    return Tower(
        target=metagraph.target,
        boxes=tuple(boxes),
        arrows=drawn,
        more_arrows=len(arrows) - len(drawn),
        exact=count == _chains(arrows, metagraph.target),
        paths=paths,
        more_paths=None if count is None else count - len(paths),
        unused=tuple(m for m in marks_of(metagraph) if m.use is not Use.SENDS),
        sentence=sentence_of(metagraph.target, [(p.path, p.share) for p in paths], count) + _undrawn(metagraph, shares),
        own_share=None if shares is None else shares.get((), 0.0),
    )


def _undrawn(metagraph: MetaGraph, shares: Shares | None) -> str:
    """A sentence on numbers of neighbours and total weights (`counts`), which are no messages, if they have a share."""
    rest = {path: share for path, share in (shares or {}).items() if share > 0 and path not in metagraph.meta_paths}
    if sum(rest.values()) < LEAST_UNDRAWN:
        return ""
    ranked = dict.fromkeys(path[0] for path in sorted(rest, key=lambda p: (-rest[p], len(p), p)) if path)
    names = "; ".join(relation_words(relation) for relation in islice(ranked, MOST_UNDRAWN))
    said = f"how many nodes, and with what weight, each relation links ({sum(rest.values()):.0%})"
    return f" Not drawn: {said}, first of all {names}."


def _arrows(metagraph: MetaGraph, shares: Shares | None) -> list[Arrow]:
    """Every relation at every hop, from the target backwards; paths through a type at a hop are followed together."""
    found, root = metagraph.meta_paths, metagraph.meta_paths.root
    places = {} if root is None else {root.node_type: root}
    arrows: list[Arrow] = []
    hop = 0
    while places:
        hop += 1
        steps = [step for place in places.values() for step in found.steps(place).items()]
        arrows += [Arrow(hop, relation, _share_of(hop, relation, shares)) for relation, _ in steps]
        places = {}
        for _, place in steps:
            known = places.get(place.node_type, place)
            places[place.node_type] = place._replace(states=known.states | place.states)
    return arrows


def _share_of(hop: int, relation: Relation, shares: Shares | None) -> float | None:
    if shares is None:
        return None
    return sum(share for path, share in shares.items() if len(path) >= hop and path[-hop] == relation)


def _most_important(arrows: Sequence[Arrow]) -> tuple[Arrow, ...]:
    """As many as are drawn: the largest shares, then the nearest; each leads on to the target."""
    ranked = sorted(arrows, key=lambda a: (-(a.share or 0.0), a.hop))[:MOST_ARROWS]
    kept: list[Arrow] = []
    reached: set[Box] = set()
    for arrow in sorted(ranked, key=lambda a: (a.hop, -(a.share or 0.0), a.relation)):
        if arrow.hop == 1 or arrow.target in reached:
            kept.append(arrow)
            reached.add(arrow.source)
    return tuple(kept)


def _chains(arrows: Sequence[Arrow], target: str) -> int:
    """How many chains of arrows end at the target, the empty one included; none without a target."""
    ways = {Box(0, target): 1}
    for arrow in arrows:
        ways[arrow.source] = ways.get(arrow.source, 0) + ways[arrow.target]
    return sum(ways.values())


def _first_paths(metagraph: MetaGraph, shares: Shares | None) -> tuple[HeardPath, ...]:
    """The paths to list, with all paths that end them."""
    found = metagraph.meta_paths
    wanted: dict[MetaPath, None] = {}
    for path in sorted(shares or {}, key=lambda p: (-(shares or {})[p], len(p), p)):
        ends = [path[n:] for n in range(len(path), -1, -1)]
        if path in found and len({*wanted, *ends}) <= MOST_PATHS and (shares or {})[path] > 0:
            wanted |= dict.fromkeys(ends)
    for path in islice(found, MOST_PATHS):
        if len(wanted) < MOST_PATHS and (not path or path[1:] in wanted):
            wanted[path] = None
    return tuple(HeardPath(path, None if shares is None else shares.get(path, 0.0)) for path in wanted)
