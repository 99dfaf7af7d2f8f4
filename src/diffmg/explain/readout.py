"""The readout before its norm as a linear map of the states it reads, with its gates frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffmg.nn.readout import Attention, Readout


@dataclass(frozen=True)
class FrozenReadout:
    """`combine(values) + constant`, with `values` (n, channels, dim); gates are those of the states it was made from.

    A channel is a weighted sum of the target's states. The rows of `gates` are the target's nodes.
    """

    channels: tuple[Mapping[int, float], ...]
    """For each channel, the factor of each state."""
    maps: Tensor | None = None
    """Of the fused states: their projections (channels, dim, dim) ..."""
    scales: Tensor | None = None
    """... one over the standard deviation of what is projected, (n, channels, 1) ..."""
    attention: Tensor | None = None
    """... the attention of each vector to the others, (n, channels, channels) ..."""
    values: Tensor | None = None
    """... the map of what is attended to, (dim, dim), with its factor ..."""
    joined: Tensor | None = None
    """... and the map of all of them side by side, (channels * dim, dim)."""
    gate: Tensor | None = None
    """Of a residual: the share of the result that is new, (dim,); the last channel is state 0."""
    constant: Tensor | None = None
    """What comes from biases of the readout alone, (n, dim)."""

    def combine(self, values: Tensor) -> Tensor:
        """The part of the result that these values bring, (n, dim)."""
        read = values if self.gate is None else values[:, :-1]
        z = read[:, 0] if self.maps is None else self._fused(torch.einsum("nkd,kde->nke", read, self.maps))
        return z if self.gate is None else torch.lerp(values[:, -1], z, self.gate)

    def at(self, rows: Tensor) -> FrozenReadout:
        """The same for these nodes of the target."""
        gates = (self.scales, self.attention, self.constant)
        scales, attention, constant = (None if x is None else x[rows] for x in gates)
        return replace(self, scales=scales, attention=attention, constant=constant)

    def _fused(self, projected: Tensor) -> Tensor:
        assert self.scales is not None and self.joined is not None, "fused states have both"
        h = (projected - projected.mean(dim=-1, keepdim=True)) * self.scales
        if self.attention is not None and self.values is not None:
            h = h + self.attention @ (h @ self.values)
        return h.flatten(1) @ self.joined

    @property
    def frozen(self) -> str:
        """What was frozen, in words; empty if the readout is linear."""
        if self.maps is None:
            return ""
        return "the norm of each state" + ("" if self.attention is None else " and the attention over states")


def freeze(readout: Readout, states: Sequence[Tensor], first: Tensor | None, depth: int) -> FrozenReadout:
    """The readout at these states 1 to K and state 0 of the target; of `last` only state K is given."""
    kind = readout.settings.states
    if kind == "last":
        found = FrozenReadout(({depth: 1.0},))
    elif kind == "mean":
        found = FrozenReadout((dict.fromkeys(range(depth + 1), 1 / (depth + 1)),))
    else:
        assert first is not None, "fused states include state 0"
        found = _fuse(readout, [first, *states])
    if not readout.settings.residual:
        return found
    gate = torch.sigmoid(readout.gate)
    constant = None if found.constant is None else found.constant * gate
    return replace(found, channels=(*found.channels, {0: 1.0}), gate=gate, constant=constant)


def _fuse(readout: Readout, states: Sequence[Tensor]) -> FrozenReadout:
    maps = torch.stack([m.weight for m in readout.maps])  # type: ignore[misc]
    biases = torch.stack([m.bias for m in readout.maps])  # type: ignore[misc]
    projected = torch.einsum("nkd,kde->nke", torch.stack(list(states), dim=1), maps) + biases
    scales = (projected.var(dim=-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    found = FrozenReadout(tuple({k: 1.0} for k in range(len(states))), maps, scales, joined=readout.joined.weight)
    if isinstance(readout.attention, Attention):
        h = (projected - projected.mean(dim=-1, keepdim=True)) * scales
        queries, keys, _ = (h @ readout.attention.maps).chunk(3, dim=-1)
        values = readout.attention.beta * readout.attention.maps.chunk(3, dim=-1)[2]
        found = replace(found, attention=(queries @ keys.mT).softmax(dim=-1), values=values)
    return replace(found, constant=found._fused(biases.expand_as(projected)) + readout.joined.bias)
