"""Sampling one operation per link: the arg-max of λ, or with probability ε any candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diffmg.core import Share
from diffmg.engine.randomness import generator
from diffmg.methods.search._gradient import Architecture, ByGradient


@dataclass(frozen=True)
class OneSample(ByGradient):
    """Options common to searches that sample one operation per link in every epoch."""

    epsilon: Share = 0.3
    """Probability of a uniformly random operation at the start."""
    decay: Share = 0.9
    """Factor on epsilon after each epoch."""
    coin: Literal["link", "tower"] = "link"
    """Decide on exploration once per link, or once per tower as the authors' code does."""

    def epsilons(self) -> Tensor:
        """ε of every epoch, (epochs,)."""
        return self.epsilon * self.decay ** torch.arange(self.epochs)


@dataclass(frozen=True)
class Exploration:
    """The random decisions of every epoch of a search, drawn in advance; Eq. (11)."""

    explores: Tensor
    """(epochs, links): whether the link takes a random candidate instead of the arg-max."""
    anything: Tensor
    """(epochs, links): the random candidate."""

    @classmethod
    def draw(cls, options: OneSample, towers: Sequence[Architecture], seed: int) -> list[Exploration]:
        """One per tower, from one random stream."""
        draw = generator("cpu", seed, "sample")
        epsilon = options.epsilons().unsqueeze(1)
        tables = []
        for tower in towers:
            shape = (options.epochs, len(tower.counts))
            tosses = torch.rand(shape if options.coin == "link" else (options.epochs, 1), generator=draw)
            anything = (torch.rand(shape, generator=draw) * tower.counts).long()
            explores = (tosses < epsilon).expand(shape)
            tables.append(cls(explores.to(tower.mask.device), anything.to(tower.mask.device)))
        return tables

    def pick(self, best: Tensor, done: Tensor) -> Tensor:
        """A candidate per link for the epoch after `done` others."""
        explores, anything = self.explores.index_select(0, done), self.anything.index_select(0, done)
        return torch.where(explores[0], anything[0], best)
