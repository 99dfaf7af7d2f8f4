"""A multilayer perceptron on the target's own features: the baseline without edges."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.methods.baselines._base import Baseline, StackedModel
from diffmg.nn import Affine
from diffmg.tasks.problem import Problem


@METHODS.add("mlp")
@dataclass(frozen=True)
class MLP(Baseline):
    """Projection per type, then fully connected layers with ReLU and dropout; edges are ignored.

    Nodes of a type without features have learned embeddings, so for recommendation this is matrix factorisation with
    layers on top.
    """

    layers: Count = 2

    timed = True
    summary = "features only: fully connected layers, no edges"
    tunable: ClassVar = {"layers": (1, 2, 3)}


@MLP.builds
class _Network(StackedModel):
    def __init__(self, options: MLP, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__(problem, settings, seed, types=problem.task.target_types)
        draw = seeded("cpu", seed, "layers")
        self.layers = nn.ModuleList(Affine(settings.dim, settings.dim, draw) for _ in range(options.layers - 1))

    def encode(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        """Each node independently."""
        for layer in self.layers:
            h = self.drop(layer(torch.relu(h)), generator)
        return h
