"""The command that writes a network out as tables."""

from __future__ import annotations

from pathlib import Path

from diffmg.datasets import load_dataset
from diffmg.runs.sources import open_problem
from diffmg.tasks import NodeClassification
from run_files import diffmg


def test_an_exported_network_comes_back(tmp_path: Path) -> None:
    answer = diffmg("export", "academic:400", str(tmp_path / "out"))
    assert answer.code == 0
    (description,) = (tmp_path / "out").glob("*.toml")
    assert str(description) in answer.out
    again, before = open_problem(str(description)), load_dataset("academic:400")
    assert again.graph.num_nodes == before.graph.num_nodes
    assert isinstance(again.task, NodeClassification)
    assert isinstance(before.task, NodeClassification)
    assert again.task.labels.tolist() == before.task.labels.tolist()
    assert all(set(again.task.parts[p].tolist()) == set(before.task.parts[p].tolist()) for p in again.task.parts)


def test_a_folder_that_is_not_new_is_named(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    answer = diffmg("export", "academic:400", str(tmp_path))
    assert answer.code == 2
    assert str(tmp_path) in answer.err
    assert (tmp_path / "note").read_text() == "mine"
