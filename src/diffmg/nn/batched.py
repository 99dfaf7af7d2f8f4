"""The models of many trainings as one: parameters with a slot axis, and the encoder on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from diffmg.core import DiffmgError
from diffmg.engine.backend import fused
from diffmg.engine.batched_slots import Shape, Slots
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix

Place = tuple[str, int | None]
"""A parameter of the batch, and the tower it belongs to."""


class Steps(Protocol):
    """The parts of an encoder, on all slots at once: kernels, or plain torch."""

    def draw(self, keep: Tensor) -> None:
        """Draw the dropout masks of the next epoch."""

    def propagate(
        self, keep: Tensor | None, sources: Sequence[Tensor], offsets: Sequence[Tensor], weight: Tensor, bias: Tensor
    ) -> tuple[Tensor, ...]:
        """The last state of each tower's target type."""

    def read_out(self, tower: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """Norm and activation."""


class BatchedModel:
    """Parameters of every slot and the encoder on them; a slot's switches are values, not code."""

    def __init__(self, shape: Shape, slots: Slots, steps: Steps, graph: HeteroGraph) -> None:
        self.shape, self.slots, self.steps, self.graph = shape, slots, steps, graph
        leaves = shape.leaves()
        heads = {
            name: (shape.slots, shape.towers) if towers else (shape.slots,) for name, (_, towers) in leaves.items()
        }
        self.parameters = {
            name: torch.zeros(*heads[name], *size, device=graph.device).requires_grad_()
            for name, (size, _) in leaves.items()
        }

    def encode(self, keep: Tensor | None) -> tuple[Tensor, ...]:
        """Representations of each tower's target type, (slots, n, dim); `keep` holds the dropout masks."""
        p, types = self.parameters, list(self.shape.rows)
        sources = [self._projected(t) for t in types]
        offsets = [p[f"offset.{t}"] for t in types]
        states = self.steps.propagate(keep, sources, offsets, p["shared.weight"], p["shared.bias"])
        return tuple(self.steps.read_out(n, x, p["norm.weight"], p["norm.bias"]) for n, x in enumerate(states))

    @property
    def biases(self) -> list[Tensor]:
        """The biases of users and of items, where any slot has them."""
        return [p for name, p in self.parameters.items() if name.startswith("bias.")]

    def _projected(self, node_type: str) -> Tensor:
        """`W_t x_t` of every slot and tower, (slots, towers, n, dim)."""
        weight, x = self.parameters[f"table.{node_type}"], self.graph.features.get(node_type)
        if x is None:
            return weight
        if not isinstance(x, FixedMatrix):
            return x @ weight
        if fused(self.graph):
            from diffmg.engine.batched_pairs import features_times

            return features_times(x, weight)
        return torch.stack([torch.stack([x @ w for w in towers]) for towers in weight])


def places(names: Sequence[str], node_types: Sequence[Sequence[str]]) -> dict[str, Place]:
    """Where the parameters of a single model are in a batch; `node_types` are those of each of its towers."""
    return {name: _place(name, node_types) for name in names}


def _place(name: str, node_types: Sequence[Sequence[str]]) -> Place:
    if found := re.fullmatch(r"towers\.(\d+)\.projections\.(\d+)\.(weight|bias)", name):
        tower = int(found[1])
        kind = {"weight": "table", "bias": "offset"}[found[3]]
        return f"{kind}.{node_types[tower][int(found[2])]}", tower
    if found := re.fullmatch(r"towers\.(\d+)\.(?:readout\.)?(shared|norm)\.(weight|bias)", name):
        return f"{found[2]}.{found[3]}", int(found[1])
    if found := re.fullmatch(r"biases\.(\d+)(?:\.weight)?", name):
        return f"bias.{found[1]}", None
    if name in ("head.weight", "head.bias"):
        return name, None
    raise DiffmgError(f"a model of a batch has projections, shared map, norm, head and biases, but got {name!r}")


def slice_of(values: Mapping[str, Tensor], slot: int, place: Place) -> Tensor:
    """One slot's part of a parameter, as a view."""
    name, tower = place
    return values[name][slot] if tower is None else values[name][slot, tower]
