from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan, engine_from, settings_from
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS

FULL = Plan(
    data="academic:400",
    data_seed=3,
    metagraphs=DATASETS.get("academic").planted,
    strategy="random",
    strategy_options={"a": 1},
    depth=2,
    search_seeds=5,
    repeats=7,
    seed=11,
    train=Settings(dim=8, patience=None, select="loss"),
    device="cpu",
    engine=Engine(fused=False, capture=False, storage="bfloat16", columns=16),
)


@pytest.mark.parametrize("plan", [Plan("academic"), FULL])
def test_a_plan_survives_json(plan: Plan) -> None:
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_what_a_plan_leaves_out_has_its_default() -> None:
    assert Plan.from_dict({"data": "shop", "train": {"dim": 8}}) == Plan("shop", train=Settings(dim=8))


@pytest.mark.parametrize("name", ["search_seeds", "repeats"])
def test_at_least_one_search_and_one_training(name: str) -> None:
    with pytest.raises(DiffmgError, match=f"`{name} >= 1` must hold, but got {name}=0"):
        replace(FULL, **{name: 0})


@pytest.mark.parametrize("depth", [0, -1, True, 1.5, "4"])
def test_the_depth_is_a_number_of_states(depth: Any) -> None:
    with pytest.raises(DiffmgError, match=r"`depth >= 1` must hold \(K, the number of states\), but got depth="):
        replace(FULL, depth=depth)


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(DiffmgError, match=r"unknown field of a plan: 'sed'; did you mean 'seed'"):
        Plan.from_dict({"data": "shop", "sed": 1})


@pytest.mark.parametrize(
    "wrong",
    [{}, [], {"data": "shop", "train": 3}, {"data": "shop", "repeats": "x"}, {"data": "shop", "metagraphs": 3}],
    ids=str,
)
def test_what_is_no_plan_is_bad_input_and_no_fault(wrong: Any) -> None:
    with pytest.raises(DiffmgError):
        Plan.from_dict(wrong)


def test_settings_change_only_what_was_named() -> None:
    base = Settings(dim=8, lr=0.5)
    assert settings_from(base, {"lr": 0.1}) == Settings(dim=8, lr=0.1)
    assert settings_from(base, {}) == base


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(DiffmgError, match=r"unknown training setting 'drop_out'; did you mean 'dropout'"):
        settings_from(Settings(), {"drop_out": 0.1})


@pytest.mark.parametrize(
    "changes", [{"dim": "abc"}, {"dim": 1.5}, {"lr": None}, {"layer_norm": "banana"}, {"max_epochs": 2.5}], ids=str
)
def test_a_setting_of_another_type_is_bad_input_and_no_fault(changes: dict[str, Any]) -> None:
    with pytest.raises(DiffmgError, match=next(iter(changes))):
        settings_from(Settings(), changes)


def test_the_engine_is_in_the_plan_switch_by_switch() -> None:
    switches = {"fused": False, "capture": False, "storage": "bfloat16", "columns": 16}
    assert FULL.to_dict()["engine"] == switches
    assert Plan.from_dict(FULL.to_dict()).engine == FULL.engine
    assert Plan.from_dict({"data": "shop", "engine": {"columns": 8}}).engine == Engine(columns=8)


def test_a_plan_written_before_there_was_an_engine_has_the_default_one() -> None:
    old = FULL.to_dict()
    del old["engine"]
    assert Plan.from_dict(old) == replace(FULL, engine=Engine())


def test_switches_change_only_what_was_named() -> None:
    assert engine_from({}) == Engine()
    assert engine_from({"storage": "bfloat16", "columns": 4}) == Engine(storage="bfloat16", columns=4)


@pytest.mark.parametrize("read", [engine_from, lambda given: Plan.from_dict({"data": "shop", "engine": given})])
def test_an_unknown_switch_names_the_nearest_and_lists_all(read: Any) -> None:
    with pytest.raises(DiffmgError) as raised:
        read({"colums": 8})
    assert str(raised.value) == (
        "unknown switch of the engine: 'colums'; did you mean 'columns'? Known: capture, columns, fused, storage."
    )


@pytest.mark.parametrize("wrong", [{"columns": -1}, {"columns": "8"}, {"storage": "float16"}, {"fused": 1}], ids=str)
def test_a_wrong_switch_in_a_plan_is_bad_input(wrong: dict[str, Any]) -> None:
    with pytest.raises(DiffmgError, match=f"{next(iter(wrong))}.* but got"):
        Plan.from_dict({"data": "shop", "engine": wrong})
