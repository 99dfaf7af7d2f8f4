"""The readout: from the target's states to its representation."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import Settings
from diffmg.nn.affine import Affine
from diffmg.nn.dropout import dropout

ACTIVATIONS = {"gelu": F.gelu, "relu": torch.relu}


class Readout(nn.Module):
    """Combines the states of the target type; then residual, dropout, norm and activation, as the settings say."""

    def __init__(self, settings: Settings, depth: int, generator: torch.Generator, *, learned_norm: bool) -> None:
        super().__init__()
        self.settings, dim = settings, settings.dim
        self.norm = nn.LayerNorm(dim, elementwise_affine=learned_norm) if settings.layer_norm else nn.Identity()
        if settings.states in ("concat", "attention"):
            self.maps = nn.ModuleList(Affine(dim, dim, generator) for _ in range(depth + 1))
            self.attention = Attention(dim, generator) if settings.states == "attention" else nn.Identity()
            self.joined = Affine((depth + 1) * dim, dim, generator)
        if settings.residual:
            self.gate = nn.Parameter(torch.zeros(dim))

    @property
    def needs_first(self) -> bool:
        """Whether it reads state 0 of the target type."""
        return self.settings.residual or self.settings.states != "last"

    @property
    def needs_all(self) -> bool:
        """Whether it reads all states, not only the last one."""
        return self.settings.states != "last"

    def forward(self, states: Sequence[Tensor], first: Tensor | None, generator: torch.Generator | None) -> Tensor:
        """Representations (n, dim) from the last state, or states 1 to K where all are read, and from state 0."""
        return self.finish(self.before_norm(states, first, generator))

    def before_norm(self, states: Sequence[Tensor], first: Tensor | None, generator: torch.Generator | None) -> Tensor:
        """What norm and activation are applied to, (n, dim)."""
        z = states[-1] if first is None or not self.needs_all else self._combined([first, *states], generator)
        if self.settings.residual:
            assert first is not None, "a residual reads state 0"
            z = torch.lerp(first, z, torch.sigmoid(self.gate))
        return self._drop(z, self.settings.message_dropout, generator)

    def finish(self, z: Tensor) -> Tensor:
        """Norm and activation."""
        z = self.norm(z)
        return ACTIVATIONS[self.settings.activation](z) if self.settings.activation != "none" else z

    def _combined(self, states: Sequence[Tensor], generator: torch.Generator | None) -> Tensor:
        if self.settings.states == "mean":
            return torch.stack(list(states)).mean(dim=0)
        h = torch.stack([project(z) for project, z in zip(self.maps, states, strict=True)], dim=1)
        h = self._drop(F.layer_norm(h, h.shape[-1:]), self.settings.dropout, generator)
        joined: Tensor = self.joined(self.attention(h).flatten(1))
        return joined

    def _drop(self, h: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
        return dropout(h, share, generator) if self.training and share > 0 else h


class Attention(nn.Module):
    """Single-head attention over several vectors of each node, as in SeHGNN; (n, vectors, dim) in and out."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = dim**-0.5
        self.maps = nn.Parameter(torch.empty(dim, 3 * dim).uniform_(-bound, bound, generator=generator))
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, h: Tensor) -> Tensor:
        """`h + β softmax(Q K^T) V`."""
        queries, keys, values = (h @ self.maps).chunk(3, dim=-1)
        return h + self.beta * ((queries @ keys.mT).softmax(dim=-1) @ values)
