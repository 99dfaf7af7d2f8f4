"""Samples of a search that never leave the device."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.metagraph import links_of
from diffmg.core.space import SearchSpace
from diffmg.methods.search.diffmg import DiffMG, DiffMGSearch
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch
from resuming import run
from small_networks import small_classification, small_recommendation, small_world

pytest.importorskip("triton", reason="the fused kernels are written in Triton, which is not installed")

from diffmg.engine.layout import kernel_tables
from diffmg.engine.sampling import DeviceSpaces


@pytest.fixture(params=[small_classification, small_recommendation])
def tiny(request: pytest.FixtureRequest, device: torch.device) -> Problem:
    """Small enough for the interpreter."""
    return request.param().to(device, Engine(capture=False))


def spaces_on(targets: str, depth: int) -> list[SearchSpace]:
    schema = small_world().schema
    return [SearchSpace.dag(schema, target, depth) for target in targets]


@pytest.mark.parametrize(("targets", "depth"), [("b", 1), ("ba", 3), ("bac", 3)])
def test_picks_become_the_operations_of_their_meta_graph(targets, depth, device):
    """Towers have spaces of their own, with different numbers of candidates."""
    graph = small_world().graph().to(device)
    spaces = spaces_on(targets, depth)
    on_device, numbers = DeviceSpaces.of(spaces, graph), kernel_tables(graph).numbers
    rng = random.Random(0)
    for _ in range(20):
        picks = [[rng.randrange(len(c)) for c in space.candidates] for space in spaces]
        packed = on_device.metagraphs([torch.tensor(p, device=device) for p in picks])
        metagraphs = [space.metagraph(tuple(p)) for space, p in zip(spaces, picks, strict=True)]
        assert packed.operations.tolist() == [[numbers[c.operation] for c in m.choices] for m in metagraphs]
        assert packed.links.targets == tuple(targets)


def test_every_candidate_has_its_number(device):
    graph = small_world().graph().to(device)
    (space,) = spaces_on("b", 2)
    on_device, numbers = DeviceSpaces.of([space], graph), kernel_tables(graph).numbers
    for link, candidates in enumerate(space.candidates):
        for n, operation in enumerate(candidates):
            picks = torch.zeros(len(space.candidates), dtype=torch.int64, device=device)
            picks[link] = n
            assert on_device.metagraphs([picks]).operations[0, link] == numbers[operation]


def test_the_links_are_those_of_the_space(device):
    on_device = DeviceSpaces.of(spaces_on("ba", 3), small_world().graph().to(device))
    assert [tuple(link) for link in on_device.links.endpoints.tolist()] == list(links_of(3))
    assert on_device.links.depth == 3


def searched(problem: Problem, monkeypatch: pytest.MonkeyPatch, *, fused: bool, **options) -> tuple:
    """A search of two epochs, all that is seen of it, and all that it holds."""
    for module in ("diffmg.methods.search._gradient", "diffmg.nn.model"):
        monkeypatch.setattr(f"{module}.fused", lambda graph: fused)
    search = DiffMGSearch(DiffMG(epochs=2, **options), problem, depth=2, dim=6, seed=3)
    assert (search.on_device is not None) == fused
    history: list[Epoch] = run(search)
    seen = torch.tensor([[r.epoch, r.train_loss, r.val_loss, r.val_score] for r in history])
    return seen, {n: t for n, t in search.tensors().items() if not n.startswith(("adam.", "arch_adam."))}, search


@pytest.mark.parametrize("single_level", [False, True], ids=["two levels", "one level"])
def test_a_search_is_the_same_both_ways(tiny, monkeypatch, single_level):
    """Losses and score, λ, and every weight, also those no sample reached."""
    options = {"epsilon": 1.0, "single_level": single_level}
    seen, state, search = searched(tiny, monkeypatch, fused=True, **options)
    wanted_seen, wanted_state, plain = searched(tiny, monkeypatch, fused=False, **options)
    torch.testing.assert_close(seen, wanted_seen, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state, wanted_state, rtol=1e-3, atol=1e-5)
    assert {name.split(".")[0] for name in state} == {"model", "arch"}
    assert search.found() == plain.found()


def test_a_search_with_columns_in_slices_is_the_same(monkeypatch, device):
    problem = small_classification().to(device, Engine(capture=False))
    sliced = Problem(replace(problem.graph, engine=Engine(capture=False, columns=4)), problem.task)
    (seen, state, _), (wanted_seen, wanted_state, _) = (searched(p, monkeypatch, fused=True) for p in (sliced, problem))
    torch.testing.assert_close(seen, wanted_seen, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state, wanted_state, rtol=1e-3, atol=1e-5)
