"""metapath2vec: embeddings from random walks along meta paths, then a linear model on them.

Y. Dong, N. Chawla, A. Swami: metapath2vec: Scalable Representation Learning for Heterogeneous Networks, KDD 2017. Walks
follow a meta path over and over; skip-gram with negative sampling learns one vector per node, noise being drawn from
all nodes alike by their number of visits to the power 3/4 (metapath2vec, not its ++ form). Pre-training is part of
`build` and follows from the seed alone, so the last few results are kept for models that need the same; afterwards the
vectors stay as they are, and a linear classifier, or the scale of the dot product of users and items, is trained.
Features are not read and dropout is not used.

Different from the paper: Adam on batches of walks; a walk has as many noise nodes as places, which all of its places
share, weighted so that a pair has `negatives` of them on average; walks start at target nodes only; fewer and shorter
walks by default (the paper: 1000 of 100 nodes, window 7).
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
"""Of one epoch; fewer where there are not 8 walks for each."""
KEPT: dict[Hashable, Tensor] = {}
"""The last vectors, by all that they follow from: trials of a tuning differ in what comes after them."""
MOST_KEPT = 4


@METHODS.add("metapath2vec")
@dataclass(frozen=True)
class Metapath2Vec(AlongPaths):
    """Skip-gram along random walks on meta paths (Dong et al. 2017)."""

    walks: Count = 5
    """From each node along each path."""
    length: Annotated[int, Bounds(2)] = 40
    """Nodes of a walk."""
    window: Count = 5
    """Nodes to each side that are context."""
    negatives: Count = 5
    epochs: Count = 1
    """Times the walks are gone through."""
    rate: Positive = 0.025
    """Learning rate of the pre-training."""

    summary = "skip-gram along random walks on meta paths, then a linear model"
    tunable: ClassVar = {"window": (3, 5, 7)}

    def vectors(self, problem: Problem, dim: int, seed: int) -> Tensor:
        """The vector of every node, (nodes, dim), as it was found the last time if that is not long ago."""
        graph, targets = problem.graph, problem.task.target_types
        key = graph_fingerprint(graph), graph.device, targets, self, dim, seed
        if key not in KEPT:
            rng = np.random.default_rng(derive_seed(seed, "walks"))
            walks = stacked_walks(graph, self.by_target(problem), self, rng)
            KEPT[key] = skip_gram(walks, sum(graph.num_nodes.values()), dim, self, seed, graph.device)
            while len(KEPT) > MOST_KEPT:
                del KEPT[next(iter(KEPT))]
        return KEPT[key]


@Metapath2Vec.builds
class _Network(nn.Module):
    """A linear model on the vectors, which are part of its state."""

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
    """Walks from all target nodes along all their paths, (walks, length), all nodes numbered together; -1 for none."""
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
    """A vector for each of `count` nodes, (count, dim), entries of mean square 1; nodes no walk meets stay random."""
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
    """How likely each node is as noise: its visits to the power 3/4."""
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

    Walks are (b, length), with -1 for no node; n runs over the walk's row of `noise`, and k is `negatives`.
    """
    there, nodes = walks >= 0, walks.clamp(min=0)
    places = torch.arange(walks.shape[1], device=walks.device)
    apart = (places.unsqueeze(0) - places.unsqueeze(1)).abs()
    near = (apart > 0) & (apart <= options.window) & there.unsqueeze(1) & there.unsqueeze(2)
    c = F.embedding(nodes, centres)
    met = F.logsigmoid(c @ F.embedding(nodes, contexts).mT)
    unmet = F.logsigmoid(-(c @ F.embedding(noise, contexts).mT)).mean(dim=-1)
    pairs = near.to(c.dtype)
    return -((met * pairs).sum() + options.negatives * (unmet * pairs.sum(dim=-1)).sum()) / pairs.sum()
