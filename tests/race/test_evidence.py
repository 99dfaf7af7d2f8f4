from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from diffmg.core import Settings
from diffmg.core.candidate import Candidate
from diffmg.methods.baselines.gcn import GCN
from diffmg.race.board import Board, Turn
from diffmg.race.evidence import chance_of, evidence_of
from diffmg.race.field import Field
from diffmg.race.result import choose
from diffmg.race.trial import Outcome

VALUES = (0.5, 0.3, 0.8, 0.6, 0.7)


@pytest.fixture
def field(recommendation):
    return Field(recommendation)


def board_of(field, values=VALUES, again=()):
    """A board of rivals with these scores; some were trained again, with the scores given."""
    board, size = Board(field.problem.task.sign), field.problem.task.size("val")
    for number, value in enumerate(values):
        board.add(Candidate(GCN(layers=number + 1), Settings()), "chance")
        turns = {Turn(0, 0): value} | ({Turn(0, r + 1): v for r, v in enumerate(again)} if number == 2 else {})
        for turn, score in turns.items():
            votes = torch.randn(size, generator=torch.Generator().manual_seed(10 * number + turn.repeat))
            failed = math.isnan(score)
            board.record(
                number, turn, Outcome(error="it broke") if failed else Outcome(score, weights={"w": votes}, votes=votes)
            )
        board.running_best.append(board.best())
    return board


def evidence(field, *given, **more):
    board = board_of(field, *given, **more)
    return evidence_of(board, field, choose(board, field))


def test_the_gain_of_doubling_is_that_of_all_halves(field):
    """By brute force: the best of all first trainings, less the mean best of every half of them."""
    values = (*VALUES, 0.65)
    halves = [max(half) for half in itertools.combinations(values, 3)]
    assert evidence(field, values).gain_of_doubling == pytest.approx(max(values) - statistics.fmean(halves))
    assert math.isnan(evidence(field, (0.5,)).gain_of_doubling)


def test_finalists_are_those_trained_again(field):
    (finalist,) = evidence(field, again=(0.9, 0.7)).finalists
    scores = (0.8, 0.9, 0.7)
    assert finalist.candidate == 2
    assert finalist.mean == pytest.approx(statistics.fmean(scores))
    assert finalist.std == pytest.approx(statistics.stdev(scores))
    assert (finalist.trainings, finalist.described) == (3, "gcn layers=3")


def test_what_was_tried_and_what_failed(field):
    found = evidence(field, (*VALUES, math.nan))
    assert (found.candidates, found.failed, found.errors) == (6, 1, ("it broke",))
    assert found.judged_on == "validation"
    assert found.running_best == (0.5, 0.5, 0.8, 0.8, 0.8, 0.8)
    assert (found.single, found.single_score) == (2, 0.8)
    assert found.chance is None, "the test part was not read"
    assert found.cut == 0
    assert sum(share.share for share in found.shares) == pytest.approx(1)


@pytest.mark.parametrize("knows", [True, False])
def test_a_score_is_compared_with_the_same_answers_dealt_out_at_random(knows, recommendation):
    task = recommendation.task
    labels = task.parts["test"].labels.double()
    noise = torch.randn(len(labels), generator=torch.Generator().manual_seed(0)).double()
    votes = labels + 0.1 * noise if knows else noise
    chance, above = chance_of(task, votes, float(task.score_votes(votes, "test")))
    assert chance == pytest.approx(0.5, abs=0.02), "the area under the curve of a coin"
    assert above is knows


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
@pytest.mark.parametrize("knows", [True, False])
def test_numbers_are_compared_with_one_number_for_every_node(knows, metric, regression):
    task = replace(regression.task, metric=metric)
    true = task.scaled[task.parts["test"]]
    noise = torch.randn(true.shape, generator=torch.Generator().manual_seed(0))
    votes = true + 0.3 * noise if knows else noise
    score = float(task.score_votes(votes, "test"))
    chance, above = chance_of(task, votes, score)
    known, wanted = task.values[task.parts["train"]], task.values[task.parts["test"]].numpy()
    constant = np.full_like(wanted, np.median(known) if metric == "mae" else known.mean())
    plain = {"mae": mean_absolute_error, "rmse": root_mean_squared_error, "r2": r2_score}[metric]
    assert chance == pytest.approx(plain(wanted, constant), abs=1e-6)
    assert above == knows
    assert chance_of(task, task.blind_votes("test"), chance) == (chance, False), "as good as chance is not better"
