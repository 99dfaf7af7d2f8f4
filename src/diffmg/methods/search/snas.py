"""SNAS (Xie, Zheng, Liu and Lin, ICLR 2019) on DiffMG's search space and encoder.

Every link carries all its candidates with the weights softmax((λ + G) / τ), a sample of the concrete distribution: G is
Gumbel noise, -log(-log U), and τ goes down, so that samples come closer and closer to one candidate. The meta graph
taken in the end is the arg-max of λ. One sample an epoch serves both updates.

Left out: their one loss for both updates (here, as for all searches, the weights learn from training data and λ from
validation data), their term for the cost of operations, their cells. The schedule is ours: τ falls by one factor an
epoch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import METHODS
from diffmg.engine.randomness import generator
from diffmg.methods.search._gradient import ByGradient, GradientSearch
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports


@METHODS.add("snas")
@dataclass(frozen=True)
class Snas(ByGradient):
    """Options of the search; what DiffMG has too defaults to DiffMG's."""

    temperature: float = 1.0
    """τ in the first epoch."""
    final_temperature: float = 0.1
    """τ in the last epoch."""

    summary = "all candidates of every link, mixed by Gumbel-softmax samples of falling temperature"

    def rules(self) -> dict[str, bool]:
        """What must hold, as formulas."""
        return {"0 < final_temperature <= temperature": 0 < self.final_temperature <= self.temperature}

    def temperatures(self) -> Tensor:
        """τ of every epoch, (epochs,): each is the one before times the same factor."""
        progress = torch.arange(self.epochs, dtype=torch.float64) / max(1, self.epochs - 1)
        return self.temperature * (self.final_temperature / self.temperature) ** progress


@Snas.runs
class SnasSearch(GradientSearch):
    """Live state of one search; the noise of all epochs is drawn before it starts."""

    def __init__(self, options: Snas, problem: Problem, depth: int, dim: int, seed: int) -> None:
        super().__init__(options, problem, depth, dim, seed)
        draw, device = generator("cpu", seed, "sample"), problem.graph.device
        self.noise = [gumbel((options.epochs, *t.mask.shape), draw).to(device) for t in self.towers]
        self.temperatures = options.temperatures().float().to(device)

    def _epoch(self, done: Tensor) -> Reports:
        weights = self._samples(done)
        train_loss = self._update_weights(self.everything, weights)
        return train_loss, *self._update_architecture(self.everything, weights)

    def _samples(self, done: Tensor) -> list[Tensor]:
        """For each tower, the weight of every choice in the epoch after `done` others."""
        temperature = self.temperatures.index_select(0, done)
        samples = []
        for tower, noise in zip(self.towers, self.noise, strict=True):
            disturbed = (tower.parameter + noise.index_select(0, done)[0]) / temperature
            samples.append(tower.listed(disturbed.masked_fill(tower.mask, -torch.inf).softmax(dim=1)))
        return samples


def gumbel(shape: tuple[int, ...], draw: torch.Generator) -> Tensor:
    """Numbers of the standard Gumbel distribution."""
    uniform = torch.rand(shape, generator=draw, dtype=torch.float64).clamp_min(torch.finfo(torch.float64).tiny)
    return -(-uniform.log()).log().float()
