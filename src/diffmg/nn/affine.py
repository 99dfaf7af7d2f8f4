"""An affine map for dense, sparse or one-hot input."""

from typing import Any

import torch
from torch import Tensor, nn

from diffmg.graph.sparse import FixedMatrix

ROWS = 1024
"""Rows per chunk of a tall product on a GPU."""


class Affine(nn.Module):
    """`x W + b`; initialised uniformly in ±1/sqrt(inputs). One-hot input is given as None and never materialised."""

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = max(1, inputs) ** -0.5
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound, generator=generator))

    def forward(self, x: Tensor | FixedMatrix | None, mask: Tensor | None = None) -> Tensor:
        """Map rows of x, (n, inputs) to (n, outputs); `mask` multiplies the columns of x."""
        weight = self.weight if mask is None else self.weight * mask.unsqueeze(1)
        if x is None:
            return weight + self.bias
        if isinstance(x, FixedMatrix):
            return x @ weight + self.bias
        return affine(x, weight, self.bias)


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`x W + b`; all three may have a leading batch dimension, for several maps at once."""
    if not x.is_cpu:
        mapped: Tensor = _Affine.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return mapped
    return torch.addmm(bias, x, weight) if x.ndim == 2 else torch.baddbmm(bias.unsqueeze(1), x, weight)


class _Affine(torch.autograd.Function):
    """Computes the gradient of W in chunks: a small matrix of long sums, which libraries give to few cores."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight) if x.ndim == 2 else torch.baddbmm(bias.unsqueeze(1), x, weight)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), g = ctx.saved_tensors, grad_outputs[0]
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            g @ weight.mT if for_x else None,
            chunked_gradient(x, g) if for_weight else None,
            g.sum(dim=-2) if for_bias else None,
        )


def chunked_gradient(x: Tensor, g: Tensor) -> Tensor:
    """`x^T g` for (..., n, a) and (..., n, b) with many rows: a batched product of chunks, then their sum."""
    whole = x.shape[-2] // ROWS * ROWS
    if whole == 0:
        return x.mT @ g
    chunks = [t[..., :whole, :].reshape(*t.shape[:-2], -1, ROWS, t.shape[-1]) for t in (x, g)]
    total = (chunks[0].mT @ chunks[1]).sum(dim=-3)
    return total if whole == x.shape[-2] else total + x[..., whole:, :].mT @ g[..., whole:, :]
