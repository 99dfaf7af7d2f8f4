"""What each meta path brings to many nodes at once, by passing messages along one path at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from diffmg.core import EMPTY, MetaPath, Relation
from diffmg.explain.tower import Tower, kept_share

States = list[Tensor | None]
"""What one beginning of a path brings to states 0 to K of its last type; None for nothing."""


@torch.no_grad()
def path_contributions(tower: Tower, paths: Sequence[MetaPath], rows: Tensor) -> dict[MetaPath, Tensor]:
    """The part of the result of these rows that arrives along each path, (rows, dim); counts add paths of their own.

    Nodes whose label is an input hear themselves here, which the model takes out: do not ask for them.
    """
    found: dict[MetaPath, Tensor] = {}
    readout = tower.readout.at(rows)
    for node_type, parts in tower.inputs.items():
        own = sorted(path for path in paths if tower.source_of(path) == node_type)
        for part in parts:
            for path, states in _along(tower, part.rows, own):
                values = readout.combine(_channels(tower, states, rows))
                key = path if part.relation is None else (part.relation, *path)
                found[key] = found[key] + values if key in found else values
    return found


def _channels(tower: Tower, states: States, rows: Tensor) -> Tensor:
    """The states as the readout takes them, (rows, channels, dim)."""
    nothing = tower.result.new_zeros(len(rows), tower.result.shape[1])
    picked = [None if h is None else h[rows] for h in states]
    sums = []
    for channel in tower.readout.channels:
        terms = [factor * h for k, factor in channel.items() if (h := picked[k]) is not None]
        sums.append(sum(terms, nothing))
    return torch.stack(sums, dim=1)


def _along(tower: Tower, first: Tensor, paths: Sequence[MetaPath]) -> Iterator[tuple[MetaPath, States]]:
    """Walks along sorted paths from one type; what two of them begin with is computed once."""
    walked: list[tuple[MetaPath, States]] = []
    for path in paths:
        while walked and walked[-1][0] != path[: len(walked[-1][0])]:
            walked.pop()
        if not walked:
            walked.append(((), _pass(tower, tower.source_of(path), [first, *[None] * tower.metagraph.depth])))
        while len(walked[-1][0]) < len(path):
            begun, states = walked[-1]
            relation = path[len(begun)]
            walked.append(((*begun, relation), _pass(tower, relation.target, _taken(tower, relation, states))))
        yield path, walked[-1][1]


def _taken(tower: Tower, relation: Relation, states: States) -> States:
    """The messages along a relation into each state, a node's own share left out."""
    propagation = tower.graph.propagation[relation]
    found: States = [None] * len(states)
    for k in range(1, len(states)):
        terms = [(states[i], w) for i, operation, w in tower.links(k) if operation == relation]
        sent = [w * h for h, w in terms if h is not None]
        if sent:
            total = torch.stack(sent).sum(dim=0) if len(sent) > 1 else sent[0]
            message = propagation.matrix.forward @ total
            found[k] = message if propagation.held is None else message - propagation.held * total
    return found


def _pass(tower: Tower, node_type: str, states: States) -> States:
    """The states with what stays at a node from state to state."""
    found = list(states)
    for k in range(1, len(states)):
        for i, operation, w in tower.links(k):
            h = found[i]
            if h is not None and operation is not EMPTY:
                stays = w * kept_share(tower.graph, operation, node_type) * h
                here = found[k]
                found[k] = stays if here is None else here + stays
    return found
