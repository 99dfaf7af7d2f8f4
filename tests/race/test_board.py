"""Which models a race keeps."""

from __future__ import annotations

import torch

from diffmg.core import METHODS, Settings
from diffmg.core.candidate import Candidate
from diffmg.race import board as board_module
from diffmg.race.board import OWN, Board
from diffmg.race.trial import Outcome

TRIED = (("gcn", 0.9), ("mlp", 0.4), ("gcn", 0.8), ("hgt", 0.6), ("gcn", 0.7), ("mlp", 0.5))


def kept(models: int, monkeypatch) -> list[tuple[str, float]]:
    """Methods and scores of what is kept where there is room for so many models of 400 bytes."""
    monkeypatch.setattr(board_module, "KEPT_BYTES", 400 * models)
    board = Board(1)
    for name, score in TRIED:
        number = board.add(Candidate(METHODS.get(name)(), Settings()), "chance")
        board.record(number, OWN, Outcome(score, weights={"w": torch.zeros(100)}))
    return sorted((board.entries[n].candidate.method.name, board.entries[n].value) for n, _ in board.models)


def test_the_best_of_every_method_is_kept_before_the_relatives_of_the_best(monkeypatch):
    assert kept(6, monkeypatch) == sorted(TRIED)
    assert kept(4, monkeypatch) == [("gcn", 0.8), ("gcn", 0.9), ("hgt", 0.6), ("mlp", 0.5)]
    assert kept(3, monkeypatch) == [("gcn", 0.9), ("hgt", 0.6), ("mlp", 0.5)]


def test_where_there_is_room_for_few_the_best_of_all_are_kept(monkeypatch):
    assert kept(2, monkeypatch) == [("gcn", 0.9), ("hgt", 0.6)]
    assert kept(0, monkeypatch) == [("gcn", 0.9), ("hgt", 0.6)], "never fewer than two"
