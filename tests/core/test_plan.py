from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS
from diffmg.methods.given import Given

FULL = Plan(
    method=MethodSpec("random", {"depth": 2, "search_seeds": 5}),
    source=Source("shop.db", 3, "customers.churned", {"order.placed_at": "2024-06-01"}, "drop"),
    settings=Settings(dim=8, patience=None, select="loss"),
    repeats=7,
    seed=11,
    device="cpu",
    engine=Engine(fused=False, capture=False, storage="bfloat16", columns=16),
)
GIVEN = Plan(Given(DATASETS.get("academic").planted).spec())


def read(data: object) -> Plan:
    return from_plain(Plan, data, "the plan")


def changed(**parts: Any) -> dict[str, Any]:
    return to_plain(FULL) | parts


@pytest.mark.parametrize("plan", [Plan(MethodSpec("diffmg")), FULL, GIVEN], ids=["bare", "full", "given"])
def test_a_plan_survives_json(plan: Plan) -> None:
    assert read(json.loads(json.dumps(to_plain(plan)))) == plan


def test_given_meta_graphs_come_back_as_such() -> None:
    assert read(to_plain(GIVEN)).method.make() == Given(DATASETS.get("academic").planted)


def test_what_a_plan_leaves_out_has_its_default() -> None:
    assert read({"method": {"name": "gcn"}, "settings": {"dim": 8}}) == Plan(
        MethodSpec("gcn"), settings=Settings(dim=8)
    )


def test_at_least_one_training() -> None:
    with pytest.raises(DiffmgError, match="repeats=0"):
        replace(FULL, repeats=0)


def test_a_method_is_given_by_its_spec() -> None:
    with pytest.raises(DiffmgError, match=r"MethodSpec.* but got 'gcn'"):
        Plan("gcn")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({}, "method"),
        ([], "a table"),
        (changed(sed=1), "did you mean 'seed'"),
        (changed(settings=3), "settings: "),
        (changed(settings={"drop_out": 0.1}), "settings: .*did you mean 'dropout'"),
        (changed(settings={"dim": "8"}), "settings.dim: "),
        (changed(repeats="x"), "repeats: "),
        (changed(repeats=0), "repeats=0"),
        (changed(engine={"colums": 8}), "engine: .*did you mean 'columns'"),
        (changed(engine={"columns": -1}), "engine: .*columns=-1"),
        (changed(engine={"storage": "float16"}), "engine.*float16"),
        (changed(source={"name": 3}), "source.name: "),
        (changed(method={"options": {}}), "method: .*`name`"),
    ],
    ids=str,
)
def test_what_is_no_plan_is_told_with_the_place(wrong: Any, place: str) -> None:
    with pytest.raises(DiffmgError, match=rf"^the plan.*{place}"):
        read(wrong)


def test_switches_of_the_engine_change_only_what_was_named() -> None:
    assert Engine().changed({}) == Engine()
    assert Engine().changed({"storage": "bfloat16", "columns": 4}) == Engine(storage="bfloat16", columns=4)
    with pytest.raises(DiffmgError, match="did you mean 'columns'"):
        Engine().changed({"colums": 8})


@pytest.mark.parametrize(
    ("name", "database", "described", "file", "label"),
    [
        ("", False, False, False, ""),
        ("academic:400", False, False, False, "academic-400"),
        ("yelp@7", False, False, False, "yelp-7"),
        ("data/library.toml", False, True, True, "library"),
        ("data/shop.duckdb", True, True, True, "shop"),
        ("postgresql://user@server:5432/shop", True, True, False, "shop"),
    ],
)
def test_a_source_knows_what_it_is(name: str, database: bool, described: bool, file: bool, label: str) -> None:
    source = Source(name)
    assert (source.is_database, source.is_described, source.is_file) == (database, described, file)
    assert source.label == label


def test_a_path_is_made_to_hold_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert replace(FULL.source, name="a/../shop.db").located() == replace(
        FULL.source, name=str(tmp_path.resolve() / "shop.db")
    )
    for name in ("academic:400", "postgresql://user@server/shop"):
        assert Source(name).located() == Source(name)
