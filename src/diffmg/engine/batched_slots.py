"""Slots: the places of a batch of trainings, and what each slot's training reads from device memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from diffmg.engine.batched_device import staged
from diffmg.engine.batched_programs import sizes as program_sizes

DRAWS = 4
"""Numbers that describe one draw of a dropout mask."""
ALIGNED = 16
"""Bytes at whose multiples values begin in a buffer."""


@dataclass(frozen=True)
class Shape:
    """What all trainings of a batch have in common."""

    slots: int
    targets: tuple[str, ...]
    """Target type of each tower."""
    rows: Mapping[str, int]
    """Nodes of each type, in the order of the kernels' numbering."""
    inputs: Mapping[str, int]
    """Columns of each type's features."""
    dim: int
    depth: int
    messages: int
    """The most operations of a tower: its program has no more messages."""
    parts: int
    """Room for the parts of all its cells."""
    outputs: int
    """Columns of the head, 0 for none."""
    biased: bool
    """Whether any training has a bias per node."""
    draws: int
    """The most draws that a training's dropout takes in an epoch; 0 if none has dropout."""

    @property
    def towers(self) -> int:
        """Towers of a slot."""
        return len(self.targets)

    @property
    def nodes(self) -> int:
        """Nodes of all types."""
        return sum(self.rows.values())

    def start(self, node_type: str) -> int:
        """Number of a type's first node."""
        types = list(self.rows)
        return sum(self.rows[t] for t in types[: types.index(node_type)])

    def leaves(self) -> dict[str, tuple[tuple[int, ...], bool]]:
        """Shape of each parameter without the slot axis, and whether it has a tower axis first."""
        d = self.dim
        found: dict[str, tuple[tuple[int, ...], bool]] = {}
        for t, inputs in self.inputs.items():
            found |= {f"table.{t}": ((inputs, d), True), f"offset.{t}": ((d,), True)}
        found |= {"shared.weight": ((d, d), True), "shared.bias": ((d,), True)}
        found |= {"norm.weight": ((d,), True), "norm.bias": ((d,), True)}
        if self.outputs:
            found |= {"head.weight": ((d, self.outputs), False), "head.bias": ((self.outputs,), False)}
        elif self.biased:
            found |= {f"bias.{n}": ((self.rows[t], 1), False) for n, t in enumerate(self.targets)}
        return found


@dataclass
class Slots:
    """Per-slot values on the host and on the device, in one buffer each; `upload` copies them after a change."""

    host: dict[str, Tensor]
    device: dict[str, Tensor]
    buffers: tuple[Tensor, Tensor]
    """On the host, and on the device."""
    changed: bool = True
    """Whether the host's values are newer."""

    @classmethod
    def empty(cls, shape: Shape, device: torch.device) -> Slots:
        """No slot in use."""
        c, t = shape.slots, shape.towers
        flags, whole, real = torch.uint8, torch.int64, torch.float32
        sizes = {
            "lr": ((c,), torch.float64), "decay": ((c,), real), "step": ((c,), whole), "level": ((c,), real),
            "scale": ((c,), real), "seed": ((c,), whole), "increment": ((c,), whole), "tanh": ((c,), flags),
            "norm": ((c,), flags), "activation": ((c,), flags), "mapped": ((c,), flags), "by_loss": ((c,), flags),
            "patience": ((c,), whole), "max_epochs": ((c,), whole), "owner": ((c, t), torch.int32),
            "draws": ((c, shape.draws, DRAWS), whole),
        }  # fmt: skip
        programs = program_sizes(c, t, shape.depth, len(shape.rows), shape.parts)
        sizes |= {name: (size, getattr(torch, dtype)) for name, (size, dtype) in programs.items()}
        sizes |= {f"live.{name}": ((c, t), flags) for name in shape.rows}
        sizes |= {f"there.{name}": ((c, t) if towers else (c,), flags) for name, (_, towers) in shape.leaves().items()}
        host, on_device = (_zeros(sizes, where) for where in (torch.device("cpu"), device))
        return cls(_views(host, sizes), _views(on_device, sizes), (host, on_device))

    def upload(self) -> None:
        """Copy the host's values to the device, in place, if any was set."""
        if self.changed:
            self.changed = False
            host, on_device = self.buffers
            on_device.copy_(staged(host, on_device.device), non_blocking=True)

    def set(self, slot: int, values: Mapping[str, Tensor]) -> None:
        """Set values of a slot; those not given become zero."""
        self.changed = True
        for name, value in self.host.items():
            if name in values:
                value[slot] = values[name]
            else:
                value[slot] = 0

    def __getitem__(self, name: str) -> Tensor:
        return self.device[name]


Sizes = Mapping[str, tuple[tuple[int, ...], torch.dtype]]
"""Shape and number format of values, by name."""


def _places(sizes: Sizes) -> tuple[dict[str, slice], int]:
    """Where values lie in a buffer of bytes, each aligned, and its length."""
    found, end = {}, 0
    for name, (size, dtype) in sizes.items():
        length = prod(size) * dtype.itemsize
        found[name] = slice(end, end + length)
        end += -(-length // ALIGNED) * ALIGNED
    return found, end


def _zeros(sizes: Sizes, device: torch.device) -> Tensor:
    return torch.zeros(_places(sizes)[1], dtype=torch.uint8, device=device)


def _views(buffer: Tensor, sizes: Sizes) -> dict[str, Tensor]:
    places, _ = _places(sizes)
    return {name: buffer[places[name]].view(dtype).view(size) for name, (size, dtype) in sizes.items()}


def block_width(dim: int, least: int = 1) -> dict[str, int]:
    """Columns of a block: as many as there are, in a power of two."""
    return {"WIDTH": dim, "D": max(least, 1 << (dim - 1).bit_length())}
