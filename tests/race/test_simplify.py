from __future__ import annotations

import pytest

from diffmg.core import EMPTY, IDENTITY, Link, MetaGraph, Settings, compile_program
from diffmg.core.candidate import Candidate
from diffmg.datasets.academic import Academic
from diffmg.methods.given import Given
from diffmg.methods.search._base import spaces_of
from diffmg.race.board import Board, Turn
from diffmg.race.choice import Pick
from diffmg.race.simplify import simpler_candidate, simplified
from diffmg.race.trial import Trial, train
from diffmg.training.training import build_model, outputs_of

SETTINGS = Settings(dim=16, max_epochs=40, links="mean")


def trained(problem, metagraphs, settings=SETTINGS):
    """A trained model, and its outcome."""
    outcome = train(problem, Trial(Candidate(Given(metagraphs), settings), seed=0))
    assert not outcome.failed, outcome.error
    model = build_model(problem, metagraphs, settings, seed=0)
    model.load_state_dict(dict(outcome.weights))
    return model, outcome


def everything(problem, depth=2):
    return tuple(space.everything() for space in spaces_of(problem, depth))


def score_with(problem, model, metagraphs):
    """The validation score with every operation that is not in the meta graphs switched off."""
    weights = [w.clone() for w in model.choice_weights()]
    for number, (whole, part) in enumerate(zip(model.metagraphs, metagraphs, strict=True)):
        kept = dict(part.items())
        for choice, (link, operation) in enumerate(whole.choices):
            if operation not in kept[link]:
                weights[number][choice] = 0
    with model.weighted(weights):
        return float(problem.task.evaluate(outputs_of(model, problem), "val")[1])


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_what_is_left_scores_as_well_with_the_same_weights(problem, tolerance):
    whole = everything(problem)
    model, outcome = trained(problem, whole)
    found = simplified(problem, model, tolerance)
    sign = problem.task.sign
    assert sign * score_with(problem, model, found) >= sign * outcome.score - tolerance - 1e-6
    assert sum(len(m.choices) for m in found) < sum(len(m.choices) for m in whole)
    for part, all_of_it in zip(found, whole, strict=True):
        assert part.target == all_of_it.target
        assert compile_program(part).steps, "something still reaches the target"
        for link, operations in part.items():
            assert set(operations) <= {*dict(all_of_it.items())[link], EMPTY}


def test_the_model_is_left_as_it_was(classification):
    model, outcome = trained(classification, everything(classification))
    simplified(classification, model, 0.02)
    again = float(classification.task.evaluate(outputs_of(model, classification), "val")[1])
    assert again == pytest.approx(outcome.score)


def test_a_larger_tolerance_leaves_no_more(classification):
    model, _ = trained(classification, everything(classification))
    sizes = [sum(len(m.choices) for m in simplified(classification, model, t)) for t in (0.0, 0.1, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


def test_operations_that_reach_no_target_are_left_out(classification):
    """A message to papers in state 1 that nothing takes on."""
    (planted,) = Academic.planted
    publishes = next(o for _, o in planted.choices if getattr(o, "name", "") == "publishes")
    useless = MetaGraph.of("author", {Link(1, 0): publishes, Link(2, 0): IDENTITY, Link(2, 1): EMPTY})
    model, outcome = trained(classification, (useless,))
    (found,) = simplified(classification, model, 0.0)
    assert dict(found.items())[Link(1, 0)] == (EMPTY,)
    assert score_with(classification, model, (found,)) == pytest.approx(outcome.score)


def test_a_board_gets_a_simpler_candidate_with_the_same_settings(classification):
    metagraphs = everything(classification)
    candidate = Candidate(Given(metagraphs), SETTINGS)
    board, turn = Board(1), Turn(0, 0)
    number = board.add(candidate, "seed")
    board.record(number, turn, trained(classification, metagraphs)[1])
    simpler = simpler_candidate(classification, board, Pick(number, turn), 0.1)
    assert simpler is not None
    assert simpler.settings == SETTINGS
    assert len(simpler.metagraphs[0].choices) < len(metagraphs[0].choices)


def test_where_nothing_can_go_there_is_no_simpler_candidate(classification):
    (planted,) = Academic.planted
    (least,) = simplified(classification, trained(classification, (planted,))[0], 0.0)
    board, turn = Board(1), Turn(0, 0)
    number = board.add(Candidate(Given((least,)), SETTINGS), "seed")
    board.record(number, turn, trained(classification, (least,))[1])
    again = simpler_candidate(classification, board, Pick(number, turn), -1.0)
    assert again is None
