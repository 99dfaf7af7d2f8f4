from __future__ import annotations

import math

import pytest
import torch

from diffmg.core import IDENTITY, Link, MetaGraph, Relation, Settings
from diffmg.core.candidate import Candidate
from diffmg.methods.baselines.gcn import GCN
from diffmg.methods.given import Given
from diffmg.race.board import Board, Turn
from diffmg.race.choice import Pick, best_single, complete_candidates, size_of, tolerance
from diffmg.race.field import Field
from diffmg.race.trial import Outcome

OWN, AGAIN = Turn(0, 0), Turn(0, 1)
BY = Relation("paper", "written_by", "author")
IN = Relation("venue", "publishes", "paper")
LARGE = MetaGraph.of("author", {Link(1, 0): IN, Link(2, 0): BY, Link(2, 1): BY})
SMALL = MetaGraph.of("author", {Link(1, 0): BY})
NOTHING = MetaGraph.of("author", {Link(1, 0): IDENTITY})


class Race:
    """A board that is filled by hand."""

    def __init__(self, problem, folds=0):
        self.board, self.field = Board(problem.task.sign), Field.of(problem, folds)

    def add(self, scores, metagraph=SMALL, origin="chance"):
        """A candidate with a score a training, by turn, or one on the own split."""
        scores = scores if isinstance(scores, dict) else {OWN: scores}
        method = GCN() if metagraph is None else Given((metagraph,))
        number = self.board.add(Candidate(method, Settings()), origin)
        found = () if metagraph is None else (metagraph,)
        for turn, score in scores.items():
            outcome = Outcome(score, metagraphs=found, weights={"w": torch.zeros(1)}, votes=torch.zeros(1))
            self.board.record(number, turn, outcome)
        return number

    def best(self):
        return best_single(self.board, self.field)


@pytest.fixture
def race(classification):
    return Race(classification)


def test_the_best_has_a_meta_graph_where_there_is_one(race):
    race.add(0.9, None)
    number = race.add(0.5)
    race.add(0.4)
    assert race.best() == Pick(number, OWN)


def test_the_best_of_rivals_where_none_has_a_meta_graph(race):
    race.add(0.5, None)
    number = race.add(0.7, None)
    assert race.best().number == number


def test_the_mean_of_several_trainings_counts_before_one_lucky_one(race):
    race.add(0.95)
    steady = race.add({OWN: 0.8, AGAIN: 0.82})
    race.add({OWN: 0.9, AGAIN: 0.5})
    assert race.best() == Pick(steady, AGAIN), "the better of its trainings"


def test_equals_go_to_the_first(race):
    first = race.add(0.5, LARGE)
    race.add(0.5, SMALL)
    assert race.best().number == first


@pytest.mark.parametrize(("short", "taken"), [(0.5, True), (2.0, False)])
def test_one_that_came_of_simplifying_is_taken_within_the_tolerance(short, taken, race):
    whole = race.add(0.8, LARGE)
    allowed = tolerance(race.board, race.field)
    assert allowed > 0
    simpler = race.add(0.8 - short * allowed, SMALL, "simpler")
    race.add(0.8 - 0.1 * allowed, NOTHING, "chance")
    assert race.best().number == (simpler if taken else whole)


def test_the_tolerance_is_half_a_standard_error_of_a_share(race):
    race.add(0.8)
    size = race.field.problem.task.size("val")
    assert tolerance(race.board, race.field) == pytest.approx(0.5 * math.sqrt(0.8 * 0.2 / size))


def test_the_tolerance_of_a_share_that_should_be_low_is_the_same(race):
    race.board = Board(-1)
    race.add(0.2)
    assert tolerance(race.board, race.field) == pytest.approx(
        0.5 * math.sqrt(0.2 * 0.8 / race.field.problem.task.size("val"))
    )


def test_the_tolerance_of_a_score_where_less_is_better(regression):
    race = Race(regression)
    whole = race.add(4.0, LARGE)
    allowed = tolerance(race.board, race.field)
    assert allowed == pytest.approx(0.5 * regression.task.standard_error(4.0))
    assert allowed > 0
    race.add(4.0 + 2 * allowed, SMALL, "simpler")
    assert race.best().number == whole
    simpler = race.add(4.0 + 0.5 * allowed, SMALL, "simpler")
    assert race.best().number == simpler


def test_sizes_are_sparse_products(race):
    numbers = [race.add(0.5, metagraph) for metagraph in (LARGE, SMALL, NOTHING)]
    assert [size_of(race.board.entries[n]) for n in numbers] == [2, 1, 0]


def test_candidates_are_complete_with_a_model_of_every_fold(classification):
    race = Race(classification, folds=2)
    every = {OWN: 0.6, Turn(1, 0): 0.5, Turn(2, 0): 0.7}
    one, _, best = (
        race.add(every),
        race.add({OWN: 0.9, Turn(1, 0): 0.9}),
        race.add({t: s + 0.1 for t, s in every.items()}),
    )
    assert complete_candidates(race.board, race.field) == [best, one]
    assert complete_candidates(race.board, Field(classification)) == []
