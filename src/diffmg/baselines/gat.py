"""Graph attention on the network with its types forgotten (Velickovic et al., ICLR 2018, arXiv 1710.10903)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.baselines._base import BASELINES, Baseline
from diffmg.baselines._stacked import StackedModel
from diffmg.baselines.gcn import glorot, rows_of_types, types_within, union
from diffmg.errors import DiffmgError
from diffmg.nn.encoder import dropout
from diffmg.options import check_rules, check_types
from diffmg.pairs import Pairs
from diffmg.randomness import generator as seeded
from diffmg.train import Problem, TrainSettings


@BASELINES.add("gat")
@dataclass(frozen=True)
class GAT(Baseline):
    """Projection per type, then `layers` of attention with `heads` heads over neighbours and the node itself.

    Neighbours are those of `gcn`. The heads share `dim` columns and are concatenated, in the last layer too (the
    original averages there); LeakyReLU has slope 0.2, ELU stands between layers, and dropout falls on the input of
    every layer. Left out: residual connections, which the original has for one data set. PyG's layer is not used: its
    dropout draws from a global stream, and it keeps a row of `dim` numbers for every edge.
    """

    layers: int = 4
    heads: int = 8
    attention_dropout: float = 0.0
    """Share of the attention dropped while training; 0.6 in the original, which has two layers."""

    summary = "graph attention, types forgotten (Velickovic et al. 2018)"
    tunable: ClassVar = {"layers": (2, 3, 4), "heads": (1, 4, 8)}

    def __post_init__(self) -> None:
        check_types(self)
        rules = {
            "layers >= 1": self.layers >= 1,
            "heads >= 1": self.heads >= 1,
            "0 <= attention_dropout < 1": 0 <= self.attention_dropout < 1,
        }
        check_rules(self, rules)

    def build(self, problem: Problem, settings: TrainSettings, seed: int) -> nn.Module:
        """A fresh model."""
        self.check(problem)
        check_heads(settings.dim, self.heads)
        return _Network(self, problem, settings, seed).to(problem.graph.device)


class _Network(StackedModel):
    def __init__(self, options: GAT, problem: Problem, settings: TrainSettings, seed: int) -> None:
        types = types_within(problem.graph, problem.task.target_types, options.layers)
        super().__init__(problem, settings, seed, types=types)
        near = rows_of_types(union(problem.graph), problem.graph, types)
        looped = (near + sp.identity(near.shape[0], format="csr")).tocoo()
        self.links = Links(np.stack([looped.row, looped.col], axis=1), near.shape[0], options.heads)
        self.attention_dropout = options.attention_dropout
        draw = seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList(Attention(settings.dim, options.heads, draw) for _ in range(options.layers))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """All nodes at once."""
        for number, layer in enumerate(self.layers):
            if number > 0:
                h = self.drop(F.elu(h), generator)
            h = layer(h, self.links, dropping(self.attention_dropout if self.training else 0, generator))
        return h


class Attention(nn.Module):
    """The parameters of one layer: W, and for every head a vector for the node and one for its neighbour."""

    def __init__(self, dim: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot(dim, dim, generator=generator))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.own = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))
        self.other = nn.Parameter(glorot(heads, dim // heads, 1, generator=generator))

    def forward(self, h: Tensor, links: Links, drop: Callable[[Tensor], Tensor]) -> Tensor:
        """From (nodes, dim) to (nodes, dim); `drop` is what happens to the attention."""
        x = self.heads_of(h)
        attention = links.softmax(F.leaky_relu(self.logits(x, links), 0.2))
        return links.gather(drop(attention), x) + self.bias

    def heads_of(self, h: Tensor) -> Tensor:
        """`h W`, (nodes, dim), as (heads, nodes, dim / heads)."""
        return (h @ self.weight).view(len(h), len(self.own), -1).transpose(0, 1).contiguous()

    def logits(self, x: Tensor, links: Links) -> Tensor:
        """For every head and link, what its two ends say of it, (heads, links)."""
        own, other = x @ self.own, x @ self.other
        one = torch.ones_like(own)
        left, right = torch.cat([own, one], dim=2), torch.cat([one, other], dim=2)
        return _dots(left.flatten(0, 1), right.flatten(0, 1), links.pairs).view(len(x), -1)


class Links(nn.Module):
    """Links (target, source), as many times as there are heads: head h has its own copy of every node.

    So the heads are the blocks of one sparse matrix; sums along links are its products, in both directions, which is
    the same in every run and needs no row of numbers for each link.
    """

    def __init__(self, links: NDArray[np.int64], nodes: int, heads: int) -> None:
        """Every node must be the target of a link; links may occur more than once; `order` is how they were sorted."""
        super().__init__()
        self.heads, self.rows = heads, heads * nodes
        self.order = np.lexsort((links[:, 1], links[:, 0]))
        copies = (links[self.order] + nodes * np.arange(heads)[:, None, None]).reshape(-1, 2)
        pairs, _ = Pairs.build(copies, self.rows, self.rows)
        for f in fields(pairs):
            self.register_buffer(f.name, getattr(pairs, f.name), persistent=False)

    @property
    def pairs(self) -> Pairs:
        """Left rows are targets, right rows are sources."""
        return Pairs(*(self.get_buffer(f.name) for f in fields(Pairs)))

    def softmax(self, logits: Tensor) -> Tensor:
        """Over the links into each node, (heads, links)."""
        attention: Tensor = _Softmax.apply(logits.flatten(), self.pairs, self.rows)  # type: ignore[no-untyped-call]
        return attention.view_as(logits)

    def gather(self, attention: Tensor, x: Tensor) -> Tensor:
        """Sums of neighbours' rows, weighted (heads, links), from (heads, nodes, d) to (nodes, heads * d)."""
        z: Tensor = _Gather.apply(attention.flatten(), x.flatten(0, 1), self.pairs)  # type: ignore[no-untyped-call]
        return z.view_as(x).transpose(0, 1).flatten(1)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, pairs: Pairs, rows: int) -> Tensor:
        low = logits.new_full((rows,), -torch.inf)
        top = low.scatter_reduce(0, pairs.left.long(), logits, "amax")
        weights = torch.exp(logits - top[pairs.left])
        attention = weights / _sums(weights, pairs, rows)
        ctx.pairs, ctx.rows = pairs, rows
        ctx.save_for_backward(attention)
        return attention

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (attention,), g = ctx.saved_tensors, grad_outputs[0]
        return attention * (g - _sums(attention * g, ctx.pairs, ctx.rows)), None, None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, x: Tensor, pairs: Pairs) -> Tensor:
        ctx.save_for_backward(weights, x)
        ctx.pairs = pairs
        return _matrix(weights, pairs, len(x)) @ x

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (weights, x), pairs, g = ctx.saved_tensors, ctx.pairs, grad_outputs[0].contiguous()
        values = weights[pairs.by_right]
        back = torch.sparse_csr_tensor(
            pairs.right_pointer, pairs.left_by_right, values, (len(x), len(x)), check_invariants=False
        )
        return _dots(g, x, pairs), back @ g, None


def _dots(left: Tensor, right: Tensor, pairs: Pairs) -> Tensor:
    """For every link, the product of its two rows."""
    if len(pairs.left) <= len(left) * len(right):
        return pairs.scores(left, right)
    # tiny networks with parallel links: torch's sampled product has no more places than the dense one
    return (left[pairs.left.long()] * right[pairs.right.long()]).sum(dim=1)


def _sums(weights: Tensor, pairs: Pairs, rows: int) -> Tensor:
    """For every link, the sum of the weights of all links into its target."""
    sums = _matrix(weights, pairs, rows) @ weights.new_ones(rows, 1)
    return sums.flatten()[pairs.left]


def _matrix(weights: Tensor, pairs: Pairs, rows: int) -> Tensor:
    return torch.sparse_csr_tensor(pairs.left_pointer, pairs.right, weights, (rows, rows), check_invariants=False)


def dropping(share: float, generator: torch.Generator | None) -> Callable[[Tensor], Tensor]:
    """Dropout of this share, or nothing for 0."""
    return lambda attention: dropout(attention, share, generator) if share else attention


def check_heads(dim: int, heads: int) -> None:
    """Raise if the heads cannot share the columns."""
    if dim % heads:
        raise DiffmgError(f"`dim % heads == 0` must hold, but got dim={dim} and heads={heads}; change one of them")
