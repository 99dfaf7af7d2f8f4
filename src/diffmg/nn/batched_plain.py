"""Many trainings in one program, in plain torch: the reference of the kernels, and the way on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from diffmg.core import MetaGraph, compile_program
from diffmg.engine.batched_slots import Shape, Slots
from diffmg.graph.network import HeteroGraph
from diffmg.nn.dropout import dropout
from diffmg.nn.propagation import evaluate


@dataclass(frozen=True)
class Occupant:
    """What the plain program needs of a slot's training."""

    graph: HeteroGraph
    metagraphs: tuple[MetaGraph, ...]
    mean: bool
    """Whether several operations on a link are averaged."""
    node_types: tuple[tuple[str, ...], ...]
    """For each tower, the types with parameters of its own, in the order in which their dropout is drawn."""
    dropout: float
    generator: torch.Generator


@dataclass(frozen=True)
class PlainBatch:
    """The functions of `engine.batched.Batch`, slot by slot where a program is run."""

    shape: Shape
    slots: Slots
    occupants: dict[int, Occupant] = field(default_factory=dict)

    def draw(self, keep: Tensor) -> None:
        """Draw the dropout masks of the next epoch, in the order of a single training."""
        for slot, occupant in self.occupants.items():
            for tower, types in enumerate(occupant.node_types if occupant.dropout > 0 else ()):
                for t in types:
                    rows = keep[slot, tower, self._range(t)]
                    rows.copy_(
                        dropout(torch.ones_like(rows, dtype=torch.float32), occupant.dropout, occupant.generator)
                    )

    def propagate(
        self, keep: Tensor | None, sources: Sequence[Tensor], offsets: Sequence[Tensor], weight: Tensor, bias: Tensor
    ) -> tuple[Tensor, ...]:
        """The last state of each tower's target type, (slots, n, dim)."""
        states = self._first_state(keep, sources, offsets, weight, bias)
        zeros = [states.new_zeros(self.shape.rows[t], self.shape.dim) for t in self.shape.targets]
        found = [
            [
                self._evaluated(slot, n, states[slot, n]) if slot in self.occupants else zeros[n]
                for n in range(len(zeros))
            ]
            for slot in range(self.shape.slots)
        ]
        return tuple(torch.stack([towers[n] for towers in found]) for n in range(len(zeros)))

    def read_out(self, tower: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """Norm and activation of one tower's target rows."""
        normed = F.layer_norm(x, x.shape[-1:]) * scale[:, tower, None] + shift[:, tower, None]
        z = torch.where(self._switch("norm", 2), normed, x)
        kind = self.slots["activation"].view(-1, 1, 1)
        return torch.where(kind == 2, F.gelu(z), torch.where(kind == 1, torch.relu(z), z))

    def _first_state(
        self, keep: Tensor | None, sources: Sequence[Tensor], offsets: Sequence[Tensor], weight: Tensor, bias: Tensor
    ) -> Tensor:
        """State 0, (slots, towers, nodes, dim), from each type's projection, its bias and the shared map."""
        h = torch.cat([x + b.unsqueeze(2) for x, b in zip(sources, offsets, strict=True)], dim=2)
        h = torch.where(self._switch("tanh"), torch.tanh(h), h)
        if keep is not None:
            h = torch.where(self._switch("scale"), h * keep, h)
        h = torch.where(self._switch("mapped"), h @ weight + bias.unsqueeze(2), h)
        own = self.slots["owner"] == torch.arange(self.shape.towers, device=h.device)
        return torch.where(own[:, :, None, None], h, h[:, :1])

    def _evaluated(self, slot: int, tower: int, first: Tensor) -> Tensor:
        occupant = self.occupants[slot]
        metagraph = occupant.metagraphs[tower]
        program = compile_program(metagraph)
        inputs = {t: first[self._range(t)] for t in program.inputs}
        shares = [1 / len(operations) for _, operations in metagraph.items() for _ in operations]
        return evaluate(program, occupant.graph, inputs, first.new_tensor(shares) if occupant.mean else None)[-1]

    def _range(self, node_type: str) -> slice:
        start = self.shape.start(node_type)
        return slice(start, start + self.shape.rows[node_type])

    def _switch(self, name: str, axes: int = 3) -> Tensor:
        """A per-slot switch, with this many axes after it."""
        return (self.slots[name] > 0).view(-1, *[1] * axes)
