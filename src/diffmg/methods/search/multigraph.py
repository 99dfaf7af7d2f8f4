"""Search for a meta multigraph, after PMMM (Li, Xu and He, AAAI 2023).

A link of the result may carry several operations. In each epoch only part of a link's candidates send messages, drawn
uniformly (partial message propagation), so that none of them dominates the weights early on. With α = softmax(λ), the
result keeps on every link the candidates with

    α >= threshold * max α + (1 - threshold) * min α

over the link's candidates. The rule depends on where α lies within its range, not on how far λ has moved. In the
authors' retraining, operations of a link are averaged: the training setting `links = "mean"`. The search uses the same
setting.

Differs from the paper: messages are not scaled by α, which only receives their gradient (`scaled` multiplies them, as
the paper does); both updates of an epoch use the same draw, where the authors' program draws again; one threshold
serves all links, where they set two, for consecutive states and for others; and they weight the two kinds of links.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from diffmg.core import METHODS, MetaGraph, Settings, Share
from diffmg.engine.randomness import generator
from diffmg.methods.search._gradient import Architecture, ByGradient, GradientSearch, straight_through
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports
from diffmg.training.job import Search


@METHODS.add("multigraph")
@dataclass(frozen=True)
class Multigraph(ByGradient):
    """Options of the search; shared options default to DiffMG's values."""

    share: Share = 0.5
    """Share of a link's candidates that send messages in an epoch, rounded down; never fewer than one."""
    threshold: Share = 0.5
    """How near to the link's largest α a candidate must be to be kept: 1 keeps the largest only, 0 keeps all.

    The authors use 0.8 and 0.9, which keep few more than one operation a link.
    """
    scaled: bool = False
    """Multiply messages by their α."""

    summary = "several operations a link: part of the candidates sends messages, the strong ones are kept"
    tunable: ClassVar = {"threshold": (0.3, 0.5, 0.8), "share": (0.5, 1.0)}

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A new search; several operations on a link are summed or averaged as in the training that follows."""
        return MultigraphSearch(self, problem, settings, seed)


class MultigraphSearch(GradientSearch):
    """A running search; the candidates that send messages in each epoch are drawn in advance."""

    options: Multigraph

    def __init__(self, options: Multigraph, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__(options, problem, options.depth, settings.dim, seed)
        draw, mean = generator("cpu", seed, "sample"), settings.links == "mean"
        self.senders = [draw_senders(options, tower, draw, mean=mean) for tower in self.towers]

    def found(self) -> tuple[MetaGraph, ...]:
        """On every link, the candidates whose α reaches the threshold."""
        return tuple(kept(tower, self.options.threshold) for tower in self.towers)

    def _epoch(self, done: Tensor) -> Reports:
        weights = [self._weights(t, senders, done) for t, senders in zip(self.towers, self.senders, strict=True)]
        train_loss = self._update_weights(self.everything, weights)
        return train_loss, *self._update_architecture(self.everything, weights)

    def _weights(self, tower: Architecture, senders: Tensor, done: Tensor) -> Tensor:
        """The factor of every candidate's message in the epoch after `done` others; 0 for those not drawn."""
        alpha = tower.alpha()
        factors = alpha if self.options.scaled else straight_through(alpha)
        return tower.listed(factors * senders.index_select(0, done)[0])


def draw_senders(options: Multigraph, tower: Architecture, draw: torch.Generator, *, mean: bool) -> Tensor:
    """(epochs, links, columns): 0 for candidates that do not send, 1 for others, or 1 / senders for a `mean`."""
    numbers = (options.share * tower.counts).long().clamp(min=1).unsqueeze(1)
    keys = torch.rand((options.epochs, *tower.mask.shape), generator=draw).masked_fill(tower.mask.cpu(), torch.inf)
    ranks = keys.argsort(dim=2).argsort(dim=2)
    senders = (ranks < numbers).float()
    return (senders / numbers if mean else senders).to(tower.mask.device)


def kept(tower: Architecture, threshold: float) -> MetaGraph:
    """The meta multigraph of the candidates whose α reaches the threshold of their link."""
    links = []
    for candidates, row in zip(tower.space.candidates, tower.alpha().tolist(), strict=True):
        alphas = row[: len(candidates)]
        low, high = min(alphas), max(alphas)
        least = min(high, low + threshold * (high - low))
        links.append(tuple(c for c, alpha in zip(candidates, alphas, strict=True) if alpha >= least))
    return MetaGraph(tower.space.target, tuple(links))
