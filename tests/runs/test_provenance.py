from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

import diffmg
from diffmg.runs.provenance import data_of, differences, versions
from diffmg.tasks.problem import Problem


def test_versions_name_what_computes() -> None:
    found = versions()
    assert found["diffmg"] == diffmg.__version__
    assert found["torch"] == torch.__version__
    assert found["commit"] is None or re.fullmatch("[0-9a-f]{40}( with changes)?", found["commit"])


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert versions()["commit"] is None


def test_data_are_told_by_counts_and_hashes(problem: Problem) -> None:
    data = data_of(problem)
    assert (data.task, data.metric, data.target_types) == (
        problem.task.kind, problem.task.metric, problem.task.target_types,
    )  # fmt: skip
    assert data.facts["nodes"] == dict(problem.graph.num_nodes)
    assert data.facts["labels"] == problem.task.counts()
    assert data == data_of(problem)


def test_differences_are_told_in_words(problem: Problem) -> None:
    data = data_of(problem)
    assert differences(data, data) == []
    changed = {**data.digests, "metric": "other", "nodes of planet": "9 nodes #0"}
    gone = changed.pop("schema")
    messages = differences(data, replace(data, digests=changed))
    assert gone
    assert messages[:2] == ["schema is not there any more", "nodes of planet is new"]
    assert messages[2].startswith("metric: was ")
    assert messages[2].endswith("is 'other'")
    same_words = {name: digest + "0" if name.startswith("nodes") else digest for name, digest in data.digests.items()}
    assert all(
        words.endswith(" nodes, but other content") for words in differences(data, replace(data, digests=same_words))
    )


def test_other_test_labels_are_other_data(problem: Problem) -> None:
    other = replace(problem, task=problem.task.with_other_test_labels())
    assert data_of(other).hash != data_of(problem).hash
