from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from made_cells import race_of, run_of

from diffmg.core.run import Run
from diffmg.runs.model import Model
from diffmg.tasks.problem import Problem
from experiments import votes as module
from experiments.results import Key
from experiments.votes import add_votes, decided, read_votes, votes_of

KEY = Key("gcn", "acm", True, "0123abcd")


class Made:
    """A model with these votes."""

    def __init__(self, votes: torch.Tensor) -> None:
        self.problem = self.task = self
        self.outputs, self._votes = (), votes

    def votes(self, _outputs: object, part: str) -> torch.Tensor:
        assert part == "test"
        return self._votes


def kept(
    votes: torch.Tensor, monkeypatch: pytest.MonkeyPatch, problem: Problem, run: Run | None = None
) -> dict[str, str]:
    monkeypatch.setattr(Model, "load", lambda *_: Made(votes))
    return votes_of(run or run_of(0.5), Path(), problem)


def test_classes_are_kept_exactly(classification: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = torch.rand(50, 20, generator=torch.Generator().manual_seed(1))
    found = kept(votes, monkeypatch, classification)
    assert list(found) == ["single"]
    assert len(found["single"]) == 50
    assert decided(found["single"], classes=True).tolist() == votes.argmax(dim=1).tolist()


def test_ranks_keep_the_order_up_to_a_step(recommendation: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = torch.randn(3000, generator=torch.Generator().manual_seed(1)) ** 3
    ranks = decided(kept(votes, monkeypatch, recommendation)["single"], classes=False).astype(int)
    assert (np.diff(ranks[votes.argsort().numpy()]) >= 0).all()
    assert (ranks.min(), ranks.max()) == (0, 255)
    assert np.bincount(ranks).max() <= 3000 / 256 + 1


def test_equal_scores_have_equal_ranks(recommendation: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = decided(kept(torch.tensor([2.0, 1.0, 2.0, 3.0]), monkeypatch, recommendation)["single"], classes=False)
    assert ranks[0] == ranks[2]
    assert ranks[1] < ranks[0] < ranks[3]


def test_too_many_votes_are_not_kept(
    classification: Problem, recommendation: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 40)
    assert kept(torch.rand(31), monkeypatch, recommendation) == {}
    assert list(kept(torch.rand(30), monkeypatch, recommendation)) == ["single"]
    assert kept(torch.rand(9, 37), monkeypatch, classification) == {}


def test_of_a_race_the_single_model_is_kept_too_but_not_its_pairs(
    classification: Problem, recommendation: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = race_of(0.5, 0.25)
    assert list(kept(torch.rand(9, 3), monkeypatch, classification, race)) == ["ensemble", "single"]
    assert list(kept(torch.rand(9), monkeypatch, recommendation, race)) == ["ensemble"]


def test_a_file_holds_the_votes_of_every_run(tmp_path: Path) -> None:
    other = KEY._replace(method="gat")
    add_votes(tmp_path, {KEY: {"single": "01"}, other: {}})
    assert read_votes(tmp_path) == {KEY: {"single": "01"}}
    add_votes(tmp_path, {KEY: {"single": "10"}, other: {"ensemble": "00"}})
    assert read_votes(tmp_path) == {other: {"ensemble": "00"}, KEY: {"single": "10"}}


def test_without_votes_there_is_no_file(tmp_path: Path) -> None:
    add_votes(tmp_path, {KEY: {}})
    assert list(tmp_path.iterdir()) == []
