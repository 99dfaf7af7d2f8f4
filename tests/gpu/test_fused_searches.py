"""The rivals that go by gradient, by the fused kernels and by plain torch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.settings import Settings
from diffmg.methods.search._gradient import ByGradient
from diffmg.methods.search.darts import Darts
from diffmg.methods.search.diffmg import DiffMG
from diffmg.methods.search.diffmg_corrected import DiffMGCorrected
from diffmg.methods.search.multigraph import Multigraph
from diffmg.methods.search.nasp import Nasp
from diffmg.methods.search.snas import Snas
from diffmg.tasks.problem import Problem
from resuming import run
from small_networks import small_classification, small_recommendation

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="capturing epochs needs a GPU, and there is none")
SHORT = {"depth": 2, "epochs": 1}
RIVALS = [
    Darts(**SHORT), Snas(**SHORT), Nasp(**SHORT, arch_lr=0.2), DiffMG(**SHORT, all_alpha=True),
    DiffMGCorrected(**SHORT), Multigraph(**SHORT),
]  # fmt: skip
MADE = [small_classification, small_recommendation]
BOTH = [pytest.param(r, m, id=type(r).__name__) for r, m in zip(RIVALS, MADE * 3, strict=True)]
"""Each of them on one kind of task: in the interpreter they are slow."""


def searched(rival: ByGradient, problem: Problem) -> tuple:
    """What was seen of a search, and its weights and λ in the end."""
    search = rival.search(problem, Settings(dim=6), 3)
    seen = torch.tensor([[r.epoch, r.train_loss, r.val_loss, r.val_score] for r in run(search)])
    return seen, {n: t for n, t in search.tensors().items() if n.startswith(("model.", "arch."))}


@pytest.mark.parametrize(("rival", "made"), BOTH)
def test_a_search_is_the_same_both_ways(rival, made, device, monkeypatch):
    problem = made().to(device, Engine(capture=False))
    found = []
    for fused in (True, False):
        for module in ("methods.search._gradient", "nn.model"):
            monkeypatch.setattr(f"diffmg.{module}.fused", lambda graph, fused=fused: fused)
        found.append(searched(rival, problem))
    (seen, state), (wanted_seen, wanted_state) = found
    torch.testing.assert_close(seen, wanted_seen, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state, wanted_state, rtol=1e-3, atol=1e-5)


@needs_gpu
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("rival", RIVALS, ids=lambda r: type(r).__name__)
def test_a_captured_search_is_the_eager_one(rival, made):
    longer = replace(rival, epochs=30)
    captured, eager = (searched(longer, made().to("cuda", Engine(capture=capture))) for capture in (True, False))
    torch.testing.assert_close(captured, eager)
