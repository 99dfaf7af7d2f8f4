"""What a race leaves: who is in the ensemble, and with what share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_loop import race_of

import diffmg.race.result as module
from diffmg.datasets import load_dataset
from diffmg.race.board import OWN, Turn
from diffmg.race.choice import complete_candidates
from diffmg.race.field import FOLDS
from diffmg.race.result import choose, own_split_ensemble
from diffmg.tasks.node_task import LabelTimes
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


def test_the_own_split_is_the_last_of_folds_that_go_forward_and_is_trained_once():
    problem = load_dataset("academic:400")
    count = problem.task.nodes
    moments = LabelTimes(np.random.default_rng(0).permutation(count))
    split = np.split(np.argsort(moments.made), [count // 2, 3 * count // 4])
    parts = dict(zip(("train", "val", "test"), map(torch.from_numpy, split), strict=True))
    race = race_of(replace(problem, task=problem.task.dated(moments).with_parts(**parts)), 40, folds=3)
    run(race)
    assert race.field.forward
    again = [entry for entry in race.board.entries if entry.finalist]
    assert again
    assert all(set(entry.values) == {OWN, Turn(1, 0), Turn(2, 0)} for entry in again)
    assert complete_candidates(race.board, race.field)
    assert {pick.turn for pick in choose(race.board, race.field).members} == {OWN}


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
