"""One tower of a model as it is taken apart: its network, its parts of state 0, its readout, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import IDENTITY, MetaGraph, MetaPath, Operation, Relation
from diffmg.explain.inputs import Inputs, inputs_of
from diffmg.explain.readout import FrozenReadout, freeze
from diffmg.graph.network import HeteroGraph
from diffmg.nn import DerivedModel


@dataclass(frozen=True)
class Tower:
    """What an explanation needs of the encoder of one target type."""

    graph: HeteroGraph
    """The network, aggregated as the model's settings say."""
    metagraph: MetaGraph
    weights: tuple[float, ...]
    """The factor of the message of each of the meta graph's choices."""
    inputs: Inputs
    readout: FrozenReadout
    result: Tensor
    """What comes before the norm, (n, dim), as the model itself computes it."""
    frozen: str
    """What was frozen to make it linear, in words."""

    @property
    def target(self) -> str:
        """The type that is predicted."""
        return self.metagraph.target

    @property
    def read(self) -> frozenset[int]:
        """The states that are read out."""
        return frozenset(state for channel in self.readout.channels for state in channel)

    def links(self, k: int) -> list[tuple[int, Operation, float]]:
        """For state k, the earlier states it is computed from, by which operation, with which factor."""
        each = zip(self.metagraph.choices, self.weights, strict=True)
        return [(choice.link.i, choice.operation, w) for choice, w in each if choice.link.k == k]

    def source_of(self, path: MetaPath) -> str:
        """The type where a path begins."""
        return path[0].source if path else self.target


def kept_share(graph: HeteroGraph, operation: Operation, node_type: str) -> Tensor | float:
    """The factor with which an operation leaves the rows of a type where they are; `EMPTY` is the caller's part."""
    if operation is IDENTITY or not isinstance(operation, Relation) or operation.target != node_type:
        return 1.0
    propagation = graph.propagation[operation]
    share = propagation.held if propagation.keep is None else propagation.keep
    assert share is not None, "a relation knows the share of a node's own state"
    return share


@torch.no_grad()
def towers_of(model: DerivedModel, graph: HeteroGraph) -> list[Tower]:
    """The towers of a trained model."""
    model = model.eval()
    aggregated = graph.aggregated(model.settings.aggregate, self_loops=model.settings.self_loops)
    several: Sequence = list(  # type: ignore[type-arg]
        zip(model.encoders, model.metagraphs, model.choice_weights(), inputs_of(model, aggregated), strict=True)
    )
    found = []
    for (encoder, metagraph, weights, inputs), (states, first) in zip(several, model.target_states(graph), strict=True):
        readout = freeze(encoder.readout, states, first, metagraph.depth)
        counted = model.settings.tanh and any(part.relation for parts in inputs.values() for part in parts)
        frozen = " and ".join(filter(None, [readout.frozen, "tanh of the counts of neighbours" if counted else ""]))
        result = encoder.readout.before_norm(states, first, None)
        found.append(Tower(aggregated, metagraph, tuple(weights.tolist()), inputs, readout, result, frozen))
    return found
