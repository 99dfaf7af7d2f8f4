"""metapath2vec: embeddings from random walks along meta paths, then a linear model on them.

Y. Dong, N. Chawla, A. Swami: metapath2vec: Scalable Representation Learning for Heterogeneous Networks, KDD 2017. Walks
follow a meta path over and over; skip-gram with negative sampling learns one embedding per node; negatives are drawn
from nodes of all types by visit count to the power 3/4 (metapath2vec, not metapath2vec++). Pre-training runs when the
model is built and depends only on the seed, so the most recent embeddings are cached; they are then frozen, and a
linear classifier, or the scale of the dot product of users and items, is trained. Features and dropout are not used.

Not as in the paper: Adam on batches of walks; each walk has as many negatives as nodes, shared by all of its positions
and weighted to count as `negatives` per pair; walks start at target nodes only; fewer and shorter walks by default (the
paper: 1000 of 100 nodes, window 7).
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.core import METHODS, Bounds, Count, MetaPath, Positive, Settings, derive_seed
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.fingerprint import graph_fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import starts_of
from diffmg.methods.baselines._path_walks import Ints, chain, walk
from diffmg.methods.baselines._paths import AlongPaths
from diffmg.nn import Affine
from diffmg.tasks.problem import Problem

UPDATES = 500
"""Updates per epoch; fewer if that would leave less than 8 walks per batch."""
CACHE: dict[Hashable, Tensor] = {}
"""The most recent embeddings by all they depend on: tuning trials often share them."""
CACHE_SIZE = 4


@METHODS.add("metapath2vec")
@dataclass(frozen=True)
class Metapath2Vec(AlongPaths):
    """Skip-gram along random walks on meta paths (Dong et al. 2017)."""

    walks: Count = 5
    """Walks per node and path."""
    length: Annotated[int, Bounds(2)] = 40
    """Number of nodes in a walk."""
    window: Count = 5
    """Context nodes on each side."""
    negatives: Count = 5
    epochs: Count = 1
    """Passes over the walks."""
    rate: Positive = 0.025
    """Learning rate of the pre-training."""

    summary = "skip-gram along random walks on meta paths, then a linear model"
    tunable: ClassVar = {"window": (3, 5, 7)}

    def vectors(self, problem: Problem, dim: int, seed: int) -> Tensor:
        """The embedding of every node, (nodes, dim), from the cache where possible."""
        graph, targets = problem.graph, problem.task.target_types
        key = graph_fingerprint(graph), graph.device, targets, self, dim, seed
        if key not in CACHE:
            rng = np.random.default_rng(derive_seed(seed, "walks"))
            walks = stacked_walks(graph, self.by_target(problem), self, rng)
            CACHE[key] = skip_gram(walks, sum(graph.num_nodes.values()), dim, self, seed, graph.device)
            while len(CACHE) > CACHE_SIZE:
                del CACHE[next(iter(CACHE))]
        return CACHE[key]


@Metapath2Vec.builds
class _Network(nn.Module):
    """A linear model on the embeddings, which are part of its state dict."""

    def __init__(self, options: Metapath2Vec, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__()
        graph, outputs, self.number = problem.graph, problem.task.outputs, len(problem.task.target_types)
        starts, vectors = starts_of(graph), options.vectors(problem, settings.dim, seed)
        for number, t in enumerate(problem.task.target_types):
            self.register_buffer(f"tower{number}", vectors[starts[t] : starts[t] + graph.num_nodes[t]].clone())
        self.head = Affine(settings.dim, outputs, seeded("cpu", seed, "parameters")) if outputs else None
        if self.head is None:
            self.scale = nn.Parameter(torch.full((1,), 1 / settings.dim))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Logits, or the embeddings of users, scaled, and of items."""
        towers = [self.get_buffer(f"tower{number}") for number in range(self.number)]
        if self.head is not None:
            return tuple(self.head(tower) for tower in towers)
        return (self.scale * towers[0], *towers[1:])


def stacked_walks(
    graph: HeteroGraph, paths: Mapping[str, tuple[MetaPath, ...]], options: Metapath2Vec, rng: np.random.Generator
) -> Ints:
    """Walks from target nodes along all their paths, (walks, length), as stacked node numbers; -1 after a dead end."""
    starts, found = starts_of(graph), []
    for target, own in paths.items():
        for path in own:
            first = np.arange(graph.num_nodes[target]).repeat(options.walks)
            nodes = walk(chain(graph, path), first, options.length - 1, rng)
            types = [r.target for r in reversed(path)]
            shift = np.array([starts[types[place % len(types)]] for place in range(options.length)])
            found.append(np.where(nodes >= 0, nodes + shift, -1))
    walks = np.concatenate(found)
    return walks[walks[:, 1] >= 0]


def skip_gram(
    walks: Ints, count: int, dim: int, options: Metapath2Vec, seed: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Embeddings of `count` nodes, (count, dim), scaled to mean square 1; nodes on no walk stay random."""
    draw = seeded("cpu", seed, "embeddings")
    centres = (torch.rand(count, dim, generator=draw) - 0.5).div_(dim).to(device).requires_grad_()
    contexts = torch.zeros_like(centres, requires_grad=True)
    optimizer = torch.optim.Adam([centres, contexts], lr=options.rate, fused=True)
    rng = np.random.default_rng(derive_seed(seed, "noise"))
    chances = torch.from_numpy(noise_distribution(walks, count).cumsum()).to(device)
    for batch in _batches(walks, options.epochs, rng):
        draws = torch.from_numpy(rng.random(batch.shape)).to(device) * chances[-1]
        noise = torch.searchsorted(chances, draws, right=True).clamp_(max=count - 1)
        optimizer.zero_grad()
        loss = skip_gram_loss(centres, contexts, torch.from_numpy(batch).to(device), noise, options)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return centres.detach() / centres.detach().square().mean().sqrt()


def noise_distribution(walks: Ints, count: int) -> np.ndarray:
    """Negative sampling distribution: visit counts to the power 3/4, normalised."""
    chances = np.bincount(walks[walks >= 0], minlength=count).astype(np.float64) ** 0.75
    return np.asarray(chances / max(chances.sum(), 1e-300))


def _batches(walks: Ints, epochs: int, rng: np.random.Generator) -> Iterator[Ints]:
    size = max(8, -(-len(walks) // UPDATES))
    for _ in range(epochs):
        order = rng.permutation(len(walks))
        for start in range(0, len(order), size):
            yield walks[order[start : start + size]]


def skip_gram_loss(centres: Tensor, contexts: Tensor, walks: Tensor, noise: Tensor, options: Metapath2Vec) -> Tensor:
    """`-log σ(c_v · x_u) - k mean_n log σ(-c_v · x_n)`, mean over all v in walks and u in their windows.

    Walks are (b, length), padded with -1; n runs over the walk's row of `noise`, and k is `negatives`.
    """
    valid, nodes = walks >= 0, walks.clamp(min=0)
    positions = torch.arange(walks.shape[1], device=walks.device)
    distance = (positions.unsqueeze(0) - positions.unsqueeze(1)).abs()
    near = (distance > 0) & (distance <= options.window) & valid.unsqueeze(1) & valid.unsqueeze(2)
    c = F.embedding(nodes, centres)
    positive = F.logsigmoid(c @ F.embedding(nodes, contexts).mT)
    negative = F.logsigmoid(-(c @ F.embedding(noise, contexts).mT)).mean(dim=-1)
    pairs = near.to(c.dtype)
    return -((positive * pairs).sum() + options.negatives * (negative * pairs.sum(dim=-1)).sum()) / pairs.sum()
