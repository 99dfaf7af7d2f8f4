"""The command that shows how tables become a network."""

from __future__ import annotations

from pathlib import Path

import pytest

import shop_database
from diffmg.tables import read_description
from run_files import diffmg, fit, read, refused

TOML = """
[nodes.author]
file = "authors.csv"
features = ["born"]
[nodes.paper]
[relations.wrote]
file = "wrote.csv"
source = ["author", "author"]
target = ["paper", "paper"]
[task]
target = "author"
label = "field"
"""


def test_a_description_is_shown_and_written(tmp_path: Path) -> None:
    (tmp_path / "library.toml").write_text(TOML)
    answer = diffmg("describe", str(tmp_path / "library.toml"), "--out", str(tmp_path / "again.toml"))
    assert answer.code == 0
    for word in ("author", "authors.csv", "born", "named by relations", "wrote", "field"):
        assert word in answer.out
    assert "task: predict field of author; random split 0.6 / 0.2 / 0.2, seed 0" in answer.out
    assert read_description(tmp_path / "again.toml") == read_description(tmp_path / "library.toml")


def test_a_description_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "a description must exist, but got no file at" in refused("describe", tmp_path / "gone.toml")


def test_a_recommendation_is_told_in_words(tmp_path: Path) -> None:
    task = '[task]\nkind = "recommendation"\nrelation = "wrote"\nrating = "stars"\n'
    (tmp_path / "library.toml").write_text(TOML[: TOML.index("[task]")] + task)
    answer = diffmg("describe", str(tmp_path / "library.toml"))
    assert "task: recommend along wrote by stars above 3; seed 0" in answer.out


def test_a_database_is_described_and_a_model_of_it_used_on_its_description(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    database, target = shop_database.make_sqlite(tmp_path / "shop.db"), ("--target", "customers.churned")
    answer = diffmg("describe", database, *target, "--out", tmp_path / "shop.toml")
    assert answer.code == 0
    assert "task: predict churned of customers" in answer.out
    assert "TABLE.COLUMN" in refused("describe", database)
    run = fit(tmp_path / "run", str(database), *target, "--method", "features", "-s", "max_epochs=2", "-s", "dim=8")
    assert read(run)["plan"]["source"]["target"] == "customers.churned"
    predicted = diffmg("predict", run).out
    assert predicted.startswith("customers,class,")
    assert diffmg("predict", run, "--data", tmp_path / "shop.toml").out == predicted
