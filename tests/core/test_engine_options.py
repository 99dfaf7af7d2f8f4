from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.engine import backend
from diffmg.engine.backend import MOST_TYPES, fused
from diffmg.graph.network import HeteroGraph
from small_networks import small_world


def test_the_defaults_change_nothing_but_rounding():
    assert Engine() == Engine(fused=True, capture=True, storage="float32", columns=0)


def test_switches_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Engine().columns = 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"columns": -1}, "`columns >= 0` must hold, but got .*columns=-1"),
        ({"columns": 1.5}, "`columns` must be .*, but got columns=1.5"),
        ({"fused": 1}, "`fused` must be .*, but got fused=1"),
        ({"capture": None}, "`capture` must be .*, but got capture=None"),
        ({"storage": "float16"}, "`storage` must be one of 'float32', 'bfloat16', but got storage='float16'"),
    ],
)
def test_rules_are_checked_with_the_value_shown(wrong, message):
    with pytest.raises(DiffmgError, match=message):
        Engine(**wrong)


def test_a_network_has_the_defaults_and_keeps_what_it_was_given():
    graph = small_world().graph()
    assert graph.engine == Engine()
    changed = replace(graph, engine=Engine(columns=4))
    assert changed.to(dtype=torch.float64).engine == Engine(columns=4)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks say that they are on a GPU, and Triton is there."""
    monkeypatch.setattr(HeteroGraph, "device", torch.device("cuda"))
    monkeypatch.setattr(backend, "_triton", lambda: True)


def many_types(count: int) -> HeteroGraph:
    return HeteroGraph.build({f"t{n}": 1 for n in range(count)}, {("t0", "x", "t1"): [[0], [0]]})


def test_on_a_cpu_nothing_is_fused():
    assert not fused(small_world().graph())


def test_on_a_gpu_with_triton_all_is_fused(on_gpu):
    assert fused(small_world().graph())


def test_fusing_can_be_switched_off(on_gpu):
    assert not fused(replace(small_world().graph(), engine=Engine(fused=False)))


def test_without_triton_nothing_is_fused(on_gpu, monkeypatch):
    monkeypatch.setattr(backend, "_triton", lambda: False)
    assert not fused(small_world().graph())


@pytest.mark.parametrize(("types", "wanted"), [(MOST_TYPES, True), (MOST_TYPES + 1, False)])
def test_sets_of_types_must_fit_into_a_number(on_gpu, types, wanted):
    assert fused(many_types(types)) is wanted
