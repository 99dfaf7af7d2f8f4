from __future__ import annotations

import numpy as np
import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines.lightgcn import LightGCN
from diffmg.tasks import Recommendation
from diffmg.tasks.problem import Problem

SETTINGS = Settings(dim=3)
EDGES = np.array([[0, 1, 2, 0, 2], [0, 0, 0, 1, 2]])
"""User 3 and item 3 have none."""


def shop(both: bool = True) -> Problem:
    edges = {("u", "bought", "i"): EDGES, ("t", "tags", "i"): np.array([[0], [3]])}
    if both:
        edges["i", "rev_bought", "u"] = EDGES[::-1]
    graph = HeteroGraph.build({"u": 4, "i": 4, "t": 1}, edges, {"u": np.ones((4, 2), np.float32)})
    positives = {"train": [[3, 0], [1, 1]], "val": [[3, 1]]}
    negatives = {"train": [[3, 3], [1, 3]], "val": [[3, 2]]}
    return Problem(graph, Recommendation.build("u", "i", (4, 4), positives, negatives))


def oracle(model, layers: int) -> torch.Tensor:
    """`mean of (D^-1/2 A D^-1/2)^k E` for users and items in one square matrix."""
    a = np.zeros((8, 8))
    a[EDGES[0], EDGES[1] + 4] = a[EDGES[1] + 4, EDGES[0]] = 1
    degree = a.sum(1)
    scale = np.where(degree > 0, np.where(degree > 0, degree, 1) ** -0.5, 0)
    hat = torch.from_numpy(scale[:, None] * a * scale)
    e = torch.cat([model.user, model.item]).double()
    return sum(torch.linalg.matrix_power(hat, k) @ e for k in range(layers + 1)) / (layers + 1)


@pytest.mark.parametrize(("layers", "both"), [(1, True), (3, True), (3, False)])
def test_outputs_and_gradients_are_those_of_powers_of_the_dense_matrix(layers, both):
    problem = shop(both)
    model = LightGCN(layers=layers).network(problem, SETTINGS, seed=0)
    got, want = torch.cat(model(problem.graph)), oracle(model, layers)
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)
    probe = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    parameters = list(model.parameters())
    pairs = zip(*(torch.autograd.grad((z * probe).sum(), parameters) for z in (got, want)), strict=True)
    for g, w in pairs:
        torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{"layers": 0}, {"layers": "3"}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        LightGCN(**options)
