"""SNAS (Xie, Zheng, Liu and Lin, ICLR 2019) on DiffMG's search space and encoder.

Every link mixes all its candidates with weights softmax((λ + G) / τ), a sample of the concrete distribution: G is
Gumbel noise, -log(-log U), and τ is annealed, so that samples approach one-hot. The result is the arg-max of λ. Both
updates of an epoch use the same sample.

Left out: their single loss for both updates (here, as in all searches, the weights are trained on training data and λ
on validation data), their resource cost term, and their cells. The schedule is ours: τ decays by a constant factor per
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
    """Options of the search; shared options default to DiffMG's values."""

    temperature: float = 1.0
    """τ in the first epoch."""
    final_temperature: float = 0.1
    """τ in the last epoch."""

    summary = "all candidates of every link, mixed by Gumbel-softmax samples of falling temperature"

    def rules(self) -> dict[str, bool]:
        """Constraints on the options."""
        return {"0 < final_temperature <= temperature": 0 < self.final_temperature <= self.temperature}

    def temperatures(self) -> Tensor:
        """τ of every epoch, (epochs,), decaying geometrically."""
        progress = torch.arange(self.epochs, dtype=torch.float64) / max(1, self.epochs - 1)
        return self.temperature * (self.final_temperature / self.temperature) ** progress


@Snas.runs
class SnasSearch(GradientSearch):
    """A running search; the noise of all epochs is drawn in advance."""

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
        """For each tower, the weight of every candidate in the epoch after `done` others."""
        temperature = self.temperatures.index_select(0, done)
        samples = []
        for tower, noise in zip(self.towers, self.noise, strict=True):
            logits = (tower.parameter + noise.index_select(0, done)[0]) / temperature
            samples.append(tower.listed(logits.masked_fill(tower.mask, -torch.inf).softmax(dim=1)))
        return samples


def gumbel(shape: tuple[int, ...], draw: torch.Generator) -> Tensor:
    """Samples of the standard Gumbel distribution."""
    uniform = torch.rand(shape, generator=draw, dtype=torch.float64).clamp_min(torch.finfo(torch.float64).tiny)
    return -(-uniform.log()).log().float()
