"""Plans of a table with the settings that tuning chose for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.reproduction import Method, Reproduction, read_reproduction
from diffmg.tuning import Tuned, Tuning, read_tuned, write_tuned

SMALL = """
title = "small"
kind = "accuracy"
data = ["acm", "academic:120"]
seeds = 2
budget = 3
tuned = "best"
[methods.mlp]
baseline = "mlp"
[methods.random]
strategy = "random"
"""


def tuned_table(folder: Path, name: str = "table.toml") -> Reproduction:
    (folder / name).write_text(SMALL, encoding="utf-8")
    return read_reproduction(folder / name)


def chosen(folder: Path, name: str, options: dict[str, int] | None = None) -> None:
    """Put a file of chosen settings there."""
    (folder / "best").mkdir(exist_ok=True)
    tuned = Tuned(3, "random", 0, 1, "score", 0.5, 0.5, 0.5, {"lr": 0.125}, options or {})
    write_tuned(folder / "best" / f"{name}.toml", tuned)


def test_chosen_settings_lie_beside_the_plan_file(tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    assert (table.budget, table.tuned, table.tuning) == (3, tmp_path / "best", Tuning(3))
    mlp, random = table.methods
    assert table.choice(mlp, "acm") == tmp_path / "best" / "mlp-acm.toml"
    assert table.choice(random, "academic:120") == tmp_path / "best" / "random-academic-120.toml"
    assert replace(table, budget=0).choice(mlp, "acm") is None


def test_a_method_may_take_the_settings_of_another(tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    other = Method("genetic", strategy="genetic", tuned_as="random")
    assert table.choice(other, "acm") == tmp_path / "best" / "random-acm.toml"


@pytest.mark.parametrize(
    "method", [Method("it", published=True), Method("it", baseline="mlp", tune=False)], ids=["published", "not tuned"]
)
def test_the_authors_rows_and_those_that_say_so_are_never_tuned(method: Method, tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    chosen(tmp_path, "it-acm")
    assert table.choice(method, "acm") is None
    assert table.plan(method, "acm", 0, "cpu") == method.plan("acm", 2, 0, "cpu")


def test_plans_have_what_was_chosen(tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    mlp, random = (replace(m, settings={"all": {"dim": 8, "lr": 0.25}}) for m in table.methods)
    mlp = replace(mlp, baseline="gat", baseline_options={"all": {"heads": 2, "layers": 2}})
    before = table.plan(mlp, "acm", 5, "cpu")
    assert before == mlp.plan("acm", 2, 5, "cpu")
    chosen(tmp_path, "mlp-acm", options={"layers": 3})
    wanted = replace(before, train=replace(before.train, lr=0.125), baseline_options={"heads": 2, "layers": 3})
    assert table.plan(mlp, "acm", 5, "cpu") == wanted
    assert table.plan(mlp, "academic:120", 5, "cpu").train.lr == 0.25
    assert table.plan(random, "acm", 5, "cpu").train.lr == 0.25
    assert replace(table, budget=0).plan(mlp, "acm", 5, "cpu") == before


def test_every_table_that_names_the_folder_has_what_was_chosen(tmp_path: Path) -> None:
    one, other = tuned_table(tmp_path), tuned_table(tmp_path, "another.toml")
    chosen(tmp_path, "mlp-acm")
    assert [t.plan(t.methods[0], "acm", 0, "cpu").train.lr for t in (one, other)] == [0.125, 0.125]


def test_chosen_settings_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    chosen(tmp_path, "mlp-acm")
    place = tmp_path / "best" / "mlp-acm.toml"
    place.write_text(place.read_text().replace("lr =", "rl ="))
    with pytest.raises(DiffmgError, match=r"mlp-acm\.toml.*unknown training setting 'rl'; did you mean 'lr'"):
        table.plan(table.methods[0], "acm", 0, "cpu")


@pytest.mark.parametrize(
    "other", [{"budget": 2}, {"budget": 4}, {"trainings": 2}, {"how": "halving"}, {"seed": 1}, {"select": "loss"}]
)
def test_settings_chosen_in_another_way_are_not_taken(other: dict[str, Any], tmp_path: Path) -> None:
    table = tuned_table(tmp_path)
    chosen(tmp_path, "mlp-acm")
    place = tmp_path / "best" / "mlp-acm.toml"
    assert table.plan(table.methods[0], "acm", 0, "cpu").train.lr == 0.125
    write_tuned(place, replace(read_tuned(place), **other))
    ((name, value),) = other.items()
    words = f"by {value} in" if name == "select" else f"{name}={value!r}"
    with pytest.raises(DiffmgError, match=rf"but got .*{words}.*mlp-acm\.toml.*remove the file"):
        table.plan(table.methods[0], "acm", 0, "cpu")
