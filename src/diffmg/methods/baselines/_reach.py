"""Which node types and relations can matter to the target types."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from diffmg.core import Relation, Schema


def types_within(schema: Schema, targets: Sequence[str], hops: int) -> tuple[str, ...]:
    """The types that relations, taken in either direction, link to a target type within so many hops."""
    near = set(targets)
    ends = [{r.source, r.target} for r in schema.relations]
    for _ in range(hops):
        near |= set().union(*(pair for pair in ends if pair & near))
    return tuple(t for t in schema.node_types if t in near)


def reaching(schema: Schema, targets: Sequence[str], steps: int) -> tuple[tuple[str, ...], ...]:
    """Types whose state can still reach the targets: before the first step, after each one; targets come first."""
    levels = [tuple(targets)]
    for _ in range(steps):
        sources = (r.source for t in levels[0] for r in schema.into(t))
        levels.insert(0, tuple(dict.fromkeys((*levels[0], *sources))))
    return tuple(levels)


def relations_by_layer(
    relations: Sequence[Relation], targets: Collection[str], layers: int
) -> list[tuple[Relation, ...]]:
    """For each layer, the relations whose messages reach a target in the layers from there on."""
    live, found = set(targets), []
    for _ in range(layers):
        found.append(tuple(r for r in relations if r.target in live))
        live |= {r.source for r in found[-1]}
    return found[::-1]
