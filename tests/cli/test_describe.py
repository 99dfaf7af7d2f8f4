"""The command that shows how tables become a network."""

from __future__ import annotations

from pathlib import Path

from diffmg.tables import read_description
from run_files import diffmg

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
    answer = diffmg("describe", str(tmp_path / "gone.toml"))
    assert answer.code == 2
    assert "a description must be a TOML file, but got no file" in answer.err


def test_a_recommendation_is_told_in_words(tmp_path: Path) -> None:
    task = '[task]\nrelation = "wrote"\nrating = "stars"\n'
    (tmp_path / "library.toml").write_text(TOML[: TOML.index("[task]")] + task)
    answer = diffmg("describe", str(tmp_path / "library.toml"))
    assert "task: recommend along wrote by stars above 3; seed 0" in answer.out
