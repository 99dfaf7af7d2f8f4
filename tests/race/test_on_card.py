"""The batched program has a plain path, so what a card does can be checked without one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from diffmg.core import Settings
from diffmg.core.candidate import Candidate
from diffmg.methods._wide import WideSpace
from diffmg.methods.baselines.gcn import GCN
from diffmg.race.board import Board, Turn
from diffmg.race.executor import run_here
from diffmg.race.field import Field
from diffmg.race.on_card import ENOUGH, Card
from diffmg.race.result import choose
from diffmg.race.trial import Trial

SETTINGS = Settings(dim=8, max_epochs=4, patience=None)


def trials(problem, count=ENOUGH + 1):
    """Meta graphs that fit into a batch, one that does not, and a rival."""
    space = WideSpace.of(problem, SETTINGS, 2, 2)
    drawn = [space.draw(random.Random(n)).metagraphs for n in range(count)]
    several = [Candidate(space.seeds()[0].method.__class__(m), SETTINGS) for m in drawn]
    odd = replace(several[0], settings=replace(SETTINGS, residual=True))
    return [Trial(c, 5) for c in (*several, odd, Candidate(GCN(), SETTINGS))]


def test_outcomes_are_those_of_one_after_another(problem):
    field, several = Field(problem), trials(problem)
    together, alone = Card(field).run(several), run_here(field, several)
    for one, other in zip(together, alone, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-6)
        assert (one.best_epoch, one.epochs, one.metagraphs) == (other.best_epoch, other.epochs, other.metagraphs)
        assert one.weights.keys() == other.weights.keys()
        for name in one.weights:
            torch.testing.assert_close(one.weights[name], other.weights[name], rtol=1e-4, atol=1e-5)
    assert [o.votes is None for o in together] == [True] * (ENOUGH + 1) + [False] * 2


def test_programs_are_kept_for_the_next_batch(classification):
    card = Card(Field(classification))
    card.run(trials(classification))
    trainer = card.trainers[0]
    card.run(trials(classification))
    assert card.trainers == {0: trainer}


def test_votes_are_computed_when_an_ensemble_asks_for_them(problem):
    field, several = Field(problem), trials(problem)
    boards = [Board(1), Board(1)]
    for board, outcomes in zip(boards, (Card(field).run(several), run_here(field, several)), strict=True):
        for trial, outcome in zip(several, outcomes, strict=True):
            board.record(board.add(trial.candidate, "chance"), Turn(0, 0), outcome)
    together, alone = (choose(board, field) for board in boards)
    assert together.ensemble_score == pytest.approx(alone.ensemble_score, abs=1e-5)
    assert [p.number for p in together.members] == [p.number for p in alone.members]


def test_a_failure_is_an_outcome(recommendation):
    broken = Trial(Candidate(GCN(), replace(SETTINGS, lr=1e30)), 0)
    failed, worked = Card(Field(recommendation)).run([broken, trials(recommendation)[-1]])
    assert failed.failed
    assert failed.error
    assert not worked.failed
