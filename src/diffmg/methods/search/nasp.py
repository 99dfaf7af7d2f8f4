"""NASP (Yao, Xu, Tu and Zhu, AAAI 2020, "Efficient neural architecture search via proximal iterations").

λ lies in the box [0, 1] and is used without softmax. Its projection λ̄ is one-hot: 1 for the largest entry of each link,
0 for the others. One iteration, with L the losses:

    ω <- ω - step of ∂L_train(ω, λ̄)/∂ω         one candidate per link is computed
    λ <- clip(λ - step of ∂L_val(ω, λ̄)/∂λ̄)     to [0, 1]; the gradient is taken at λ̄, for every candidate of a link
    λ̄ <- the projection of the new λ

The steps are Adam's with DiffMG's rates. Their paper uses plain gradient steps and starts each iteration with λ; since
the two updates alternate, only the first and last steps differ. As in their code, the projection is exactly one-hot
(the paper only requires a single non-zero entry), and λ starts in the middle of the box, here with DiffMG's small noise
so that seeds differ. Left out: the penalty on model size, the random selection offered by their code, and cells.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import METHODS
from diffmg.methods.search._gradient import Architecture, ByGradient, GradientSearch
from diffmg.tasks.problem import Problem
from diffmg.training.epochs import Reports


@METHODS.add("nasp")
@dataclass(frozen=True)
class Nasp(ByGradient):
    """Options of the search; the defaults are DiffMG's."""

    summary = "proximal iterations: one candidate a link for the weights, all for the architecture"


@Nasp.runs
class NaspSearch(GradientSearch):
    """A running search."""

    def __init__(self, options: Nasp, problem: Problem, depth: int, dim: int, seed: int) -> None:
        super().__init__(options, problem, depth, dim, seed)
        with torch.no_grad():
            for tower in self.towers:
                tower.parameter.add_(0.5)

    def _epoch(self, done: Tensor) -> Reports:  # noqa: ARG002
        with torch.no_grad():
            picks = [t.best() for t in self.towers]
        train_loss = self._update_weights(self._sample(picks), None)
        weights = [t.listed(projected(t, p)) for t, p in zip(self.towers, picks, strict=True)]
        reports = train_loss, *self._update_architecture(self.everything, weights)
        with torch.no_grad():
            for tower in self.towers:
                tower.parameter.clamp_(0.0, 1.0)
        return reports


def projected(tower: Architecture, picks: Tensor) -> Tensor:
    """λ̄, one-hot at the picked candidates; straight-through: its gradient is passed to λ unchanged."""
    one_hot = torch.zeros_like(tower.parameter).scatter(1, picks.unsqueeze(1), 1.0)
    return one_hot + (tower.parameter - tower.parameter.detach())
