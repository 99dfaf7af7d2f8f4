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
from diffmg.methods.baselines.svd import Svd
from diffmg.race import on_card
from diffmg.race.board import Board, Turn
from diffmg.race.executor import run_here
from diffmg.race.field import Field
from diffmg.race.on_card import ENOUGH, Card
from diffmg.race.result import choose
from diffmg.race.trial import Trial
from diffmg.training.batched import BatchedTrainer, batchable
from diffmg.training.parallel import side_by_side
from diffmg.training.training import ModelTraining

SETTINGS = Settings(dim=8, max_epochs=4, patience=None)


def trials(problem, count=ENOUGH + 1):
    """Meta graphs that fit into a batch, one that does not, and a rival."""
    space = WideSpace.of(problem, SETTINGS, 2, 2)
    drawn = [space.draw(random.Random(n)).metagraphs for n in range(count)]
    several = [Candidate(space.seeds()[0].method.__class__(m), SETTINGS) for m in drawn]
    odd = replace(several[0], settings=replace(SETTINGS, residual=True))
    return [Trial(c, 5) for c in (*several, odd, Candidate(GCN(), SETTINGS))]


def break_batches(monkeypatch, error):
    """Have every batch raise this."""

    class Broken(BatchedTrainer):
        def train(self, given):
            assert len(given) >= ENOUGH
            raise error

    monkeypatch.setattr(on_card, "BatchedTrainer", Broken)


def recorded(several, outcomes):
    """A board with these outcomes."""
    board = Board(1)
    for trial, outcome in zip(several, outcomes, strict=True):
        board.record(board.add(trial.candidate, "chance"), Turn(0, 0), outcome)
    return board


def test_a_training_that_keeps_its_last_epoch_is_not_part_of_a_batch(problem):
    assert batchable(problem, SETTINGS)
    assert not batchable(problem, replace(SETTINGS, select="last"))


def test_what_the_cpu_fits_is_fitted_beside_the_card(classification):
    field, several = Field(classification), trials(classification)
    fitted = [Trial(Candidate(Svd(rank=rank), SETTINGS), 5) for rank in (2, 3)]
    outcomes = Card(field).run([fitted[0], *several, fitted[1]])
    assert [outcomes[n].score for n in (0, -1)] == [o.score for o in run_here(field, fitted)]
    assert not any(o.failed for o in outcomes)


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
    boards = [recorded(several, outcomes) for outcomes in (Card(field).run(several), run_here(field, several))]
    together, alone = (choose(board, field) for board in boards)
    assert together.ensemble_score == pytest.approx(alone.ensemble_score, abs=1e-5)
    assert [p.number for p in together.members] == [p.number for p in alone.members]


def test_a_failure_is_an_outcome(recommendation):
    broken = Trial(Candidate(GCN(), replace(SETTINGS, lr=1e30)), 0)
    failed, worked = Card(Field(recommendation)).run([broken, trials(recommendation)[-1]])
    assert failed.failed
    assert failed.error
    assert not worked.failed


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("too much"), RuntimeError("an illegal access\nat length")])
def test_a_batch_that_fails_is_trained_one_by_one_and_that_is_said(error, classification, monkeypatch):
    field, several = Field(classification), trials(classification)
    break_batches(monkeypatch, error)
    card = Card(field)
    with pytest.warns(UserWarning, match="7 trainings are not one program.*: .*(out of memory|an illegal access)$"):
        outcomes = card.run(several)
    assert card.trainers == {}, "its programs are not used again"
    for one, other in zip(outcomes, run_here(field, several), strict=True):
        assert not one.failed
        assert (one.score, one.metagraphs) == (other.score, other.metagraphs)
        assert all(torch.equal(one.weights[name], other.weights[name]) for name in other.weights)


@pytest.mark.parametrize("method", ["launch", "advance"])
@pytest.mark.parametrize("error", [RuntimeError, torch.OutOfMemoryError, ArithmeticError])
def test_an_error_of_one_training_is_its_outcome(method, error, classification, monkeypatch):
    """Whenever it comes; the others go on, and it does not."""
    field, several = Field(classification), trials(classification, 2)
    called = []

    def broken(training):
        called.append(training.seed)
        if called.count(3) == 2 and training.seed == 3:
            raise error("it broke")
        return works(training)

    works = getattr(ModelTraining, method)
    monkeypatch.setattr(ModelTraining, method, broken)
    outcomes = Card(field).run([replace(several[0], seed=3), *several[1:]])
    wanted = "out of memory" if error is torch.OutOfMemoryError else f"{error.__name__}: it broke"
    assert [o.error for o in outcomes] == [wanted, "", "", ""]
    assert called.count(3) == 2


def test_a_trial_that_is_over_holds_no_training(classification):
    """Its model on the card would take memory that the next ones need."""
    trial = trials(classification, 1)[0]
    (started,) = side_by_side([lambda: on_card._Started(Field(classification), trial)])
    assert started.training is None
    assert not started.outcome.failed
