"""What was found along each path, summed over models, as the contributions of an explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffmg.core import MetaPath
from diffmg.core.importance import Contribution, PathSource
from diffmg.graph.network import HeteroGraph

SHOWN = 40
"""Paths of one explanation; those with smaller shares are summed up."""
OTHERS, CONSTANT = "other paths", "constant"
Key = tuple[str, MetaPath]
"""The label of what is not one path, or else "", and the path."""


@dataclass
class Total:
    """What was found along each path, summed over models."""

    share: dict[Key, float] = field(default_factory=dict)
    effect: dict[Key, float] = field(default_factory=dict)
    sources: dict[Key, list[tuple[str, NDArray[np.int64], NDArray[np.float64]]]] = field(default_factory=dict)

    def add(self, key: Key, share: float, effect: float) -> None:
        """One more model."""
        self.share[key] = self.share.get(key, 0.0) + share
        self.effect[key] = self.effect.get(key, 0.0) + effect

    def contributions(self, graph: HeteroGraph, k_sources: int) -> tuple[Contribution, ...]:
        """Largest share first; what is beyond `SHOWN` is summed up, and what is nothing at all is left out."""
        paths = sorted((key for key in self.share if not key[0]), key=lambda key: (-abs(self.share[key]), key[1]))
        for key in paths[SHOWN:]:
            self.add((OTHERS, ()), self.share.pop(key), self.effect.pop(key))
        found = [
            Contribution(key[1], share, self.effect[key], self._sources(key, graph, k_sources), key[0])
            for key, share in self.share.items()
            if share or self.effect[key]
        ]
        return tuple(sorted(found, key=lambda c: (-abs(c.share), c.label, c.path)))

    def _sources(self, key: Key, graph: HeteroGraph, most: int) -> tuple[PathSource, ...]:
        found = []
        for node_type in sorted({t for t, _, _ in self.sources.get(key, ())}):
            own = [(nodes, shares) for t, nodes, shares in self.sources[key] if t == node_type]
            nodes, place = np.unique(np.concatenate([n for n, _ in own]), return_inverse=True)
            shares = np.bincount(place, np.concatenate([s for _, s in own]))
            best = np.argsort(-np.abs(shares), kind="stable")[:most]
            found += [PathSource(node_type, id_of(graph, node_type, nodes[n]), float(shares[n])) for n in best]
        return tuple(sorted((s for s in found if s.share), key=lambda s: -abs(s.share))[:most])


def id_of(graph: HeteroGraph, node_type: str, node: int) -> Any:
    """The user's id of a node, as a plain value."""
    value = graph.ids_of(node_type)[node]
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, int | float | str) else str(value)
