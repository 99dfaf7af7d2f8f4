"""LightGCN: learned embeddings propagated over the user-item graph."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline, spread
from diffmg.methods.baselines._buffers import SparseBuffer
from diffmg.methods.baselines._choices import observed_choices
from diffmg.tasks.problem import Problem


@METHODS.add("lightgcn")
@dataclass(frozen=True)
class LightGCN(Baseline):
    """He et al., 2020: `E_k+1 = D^-1/2 A D^-1/2 E_k`, and the mean of `E_0` to `E_layers`; only `E_0` is learned.

    A links users and items that any relation between the two types links, once each, whatever its weight. Left out: all
    other relations and features, which the method does not use; the paper's pairwise ranking loss with sampled
    negatives, since every method here is trained with the task's loss. Dropout is not used.

    The default weight decay is much weaker than usual. Only embeddings are learned, and the loss is a mean over all
    pairs, so one embedding has a tiny gradient (Amazon: 3e-6 at the start, while a decay of 0.001 pulls with 8e-4):
    with the usual decay all of them shrink to 0 before anything is learned.
    """

    layers: Count = 3

    summary = "recommendation: learned vectors averaged over the user-item graph (He et al. 2020)"
    towers: ClassVar = (2,)
    tunable: ClassVar = {"layers": (1, 2, 3, 4)}
    varied_settings: ClassVar = {
        "lr": (0.003, 0.005, 0.01, 0.02, 0.03),
        "weight_decay": (0.0, 1e-6, 3e-6, 1e-5, 3e-5),
        "dim": (32, 64, 128),
        "max_epochs": (200, 400),
    }
    default_settings: ClassVar = {"weight_decay": 1e-5, "lr": 0.03}


@LightGCN.builds
class _Network(nn.Module):
    def __init__(self, options: LightGCN, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__()
        matrix, draw = both_sides_normalised(observed_choices(problem)), seeded("cpu", seed, "parameters")
        self.matrix, self.layers = SparseBuffer(matrix), options.layers
        self.user, self.item = (spread(rows, settings.dim, draw) for rows in matrix.shape)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Representations of users and of items, `dim` columns each."""
        matrix = self.matrix.fixed
        states: list[tuple[Tensor, Tensor]] = [(self.user, self.item)]
        for _ in range(self.layers):
            user, item = states[-1]
            states.append((matrix @ item, matrix.T @ user))
        return tuple(torch.stack(side).mean(dim=0) for side in zip(*states, strict=True))


def both_sides_normalised(choices: sp.csr_matrix) -> sp.csr_matrix:
    """Each entry divided by the square roots of its row's and its column's sum; empty rows and columns stay empty."""
    scales = [sp.diags(np.maximum(np.asarray(choices.sum(axis=a)).ravel(), 1.0) ** -0.5) for a in (1, 0)]
    return sp.csr_matrix(scales[0] @ choices @ scales[1])
