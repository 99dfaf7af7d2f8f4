"""What a race leaves: who is in the ensemble, and with what share."""

from __future__ import annotations

import pytest
from test_loop import race_of

import diffmg.race.result as module
from diffmg.race.choice import complete_candidates
from diffmg.race.field import FOLDS
from diffmg.race.result import choose, own_split_ensemble
from resuming import run


def test_models_of_the_own_split_vote_as_one_more_candidate_beside_those_of_the_folds(classification):
    race = race_of(classification, 40, folds=FOLDS)
    run(race)
    members = choose(race.board, race.field).members
    judged, others = ([p for p in members if bool(p.turn.fold) is fold] for fold in (True, False))
    numbers = {p.number for p in judged}
    assert numbers <= set(complete_candidates(race.board, race.field))
    assert {p.number for p in others} == {p.number for p in own_split_ensemble(race.board, race.field)[-1]}
    for what in ("share", "weight"):
        assert sum(getattr(p, what) for p in others) == pytest.approx(1 / (1 + len(numbers)))
        assert sum(getattr(p, what) for p in members) == pytest.approx(1)


def test_without_folds_every_model_may_vote(recommendation):
    race = race_of(recommendation, 40)
    run(race)
    chosen = choose(race.board, race.field)
    assert {p.turn.fold for p in chosen.members} == {0}
    assert sum(share.share for share in chosen.shares()) == pytest.approx(1)


def test_of_many_votes_only_those_of_the_best_models_are_compared(recommendation, monkeypatch):
    race = race_of(recommendation, 40)
    run(race)
    monkeypatch.setattr(module, "COMPARED", 3 * recommendation.task.size("val"))
    best = sorted(race.board.models, key=lambda key: (-race.board.entries[key[0]].values[key[1]], key))[:3]
    assert {(p.number, p.turn) for p in own_split_ensemble(race.board, race.field)[-1]} <= set(best)
