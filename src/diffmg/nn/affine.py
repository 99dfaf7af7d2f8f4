"""An affine map for dense, sparse or one-hot input."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from diffmg.sparse import FixedMatrix


class Affine(nn.Module):
    """`x W + b`; entries start uniform in ±1/sqrt(inputs). One-hot input is written None and never multiplied."""

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = inputs**-0.5
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound, generator=generator))

    def forward(self, x: Tensor | FixedMatrix | None) -> Tensor:
        """Map rows of x, (n, inputs) to (n, outputs)."""
        if x is None:
            return self.weight + self.bias
        if isinstance(x, FixedMatrix):
            return x @ self.weight + self.bias
        return torch.addmm(self.bias, x, self.weight)
