"""Plain rivals written as meta graphs: what they compute lies in the wide space, and a race begins from there."""

from collections.abc import Mapping, Sequence

from diffmg.core import EMPTY, IDENTITY, MetaGraph, Operation, Relation, Schema
from diffmg.core.metagraph import Link, links_of

LINEAR = {
    "shared_tables": True,
    "shared_map": False,
    "layer_norm": False,
    "activation": "none",
    "aggregate": "symmetric",
    "self_loops": False,
    "biases": True,
    "dropout": 0.0,
    "weight_decay": 1e-5,
}
"""Learned vectors alone, averaged over neighbours: the encoder of LightGCN, and a bias for each user and item."""


def alternating(schema: Schema, user: str, item: str, layers: int) -> tuple[MetaGraph, MetaGraph] | None:
    """LightGCN's sums `e + A (e + B (e + A ...))` for both ends; None where no relation leads to either end."""
    into = {end: [r for r in schema.into(end) if r.source == start] for start, end in ((user, item), (item, user))}
    return (_sums(into, user, item, layers), _sums(into, item, user, layers)) if all(into.values()) else None


def _sums(into: Mapping[str, Sequence[Relation]], target: str, other: str, layers: int) -> MetaGraph:
    """States alternate between the types and end at the target; each adds the vectors of its own nodes."""
    links: dict[Link, tuple[Operation, ...]] = {}
    for link in links_of(layers):
        relations = into[target if (layers - link.k) % 2 == 0 else other] if link.i == link.k - 1 else []
        links[link] = (*relations, *([IDENTITY] if link.i == 0 else [])) or (EMPTY,)
    return MetaGraph.of(target, links)
