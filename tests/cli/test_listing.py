from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from diffmg.datasets import DATASETS
from diffmg.strategies import STRATEGIES
from diffmg.train import TrainSettings
from runs import diffmg


def test_everything_registered_is_listed() -> None:
    listed = diffmg("list").out
    for name, kind in (*STRATEGIES.items(), *DATASETS.items()):
        assert name in listed
        assert kind.summary in listed


def test_options_and_settings_are_listed_with_their_defaults() -> None:
    listed = diffmg("list").out
    assert "epochs=100" in listed
    assert "coin=link" in listed
    assert "settings: --set KEY=VALUE" in " ".join(listed.split())
    for setting in fields(TrainSettings):
        assert any(setting.name in line and str(setting.default) in line for line in listed.splitlines())


def test_data_sets_are_listed_without_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFMG_DATA", raising=False)
    answer = diffmg("datasets")
    assert answer.code == 0
    assert all(name in answer.out for name, _ in DATASETS.items())


def row(text: str, first: str) -> list[str]:
    """The cells of the table row that starts with a name."""
    (found,) = (line for line in text.splitlines() if line.startswith(f"│ {first} "))
    return [cell.strip() for cell in found.strip("│").split("│")]


def test_one_data_set_is_shown_with_types_relations_and_split() -> None:
    shown = diffmg("datasets", "academic:400").out
    assert row(shown, "author") == ["author", "120", "16", "0"]
    assert row(shown, "written_by")[:3] == ["written_by", "paper", "author"]
    assert "task: NodeClassification on author; train 36, val 24, test 60" in shown


def test_types_without_features_and_isolated_nodes_are_shown() -> None:
    shown = diffmg("datasets", "shop:400").out
    assert row(shown, "city")[2] == "none"
    assert "task: Recommendation on user, item;" in shown


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("acadmic", 2, "unknown data set 'acadmic'; did you mean 'academic'?"),
        ("academic:abc", 2, "a data set is written NAME or NAME:SIZE with a whole number of nodes"),
        ("dblp:10", 2, "only made data sets have a size, but got dblp:10"),
        ("dblp", 3, "the file 'DBLP/graph.npz' must be under --data-root, DIFFMG_DATA or the user's cache"),
        ("yelp", 3, "the file 'Yelp/split.npz' must be under --data-root"),
    ],
)
def test_a_data_set_that_cannot_be_shown_is_named(name: str, code: int, words: str, tmp_path: Path) -> None:
    answer = diffmg("datasets", name, "--data-root", tmp_path)
    assert answer.code == code
    assert f"error: {words}" in answer.err
