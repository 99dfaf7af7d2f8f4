from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from diffmg.core import IDENTITY, METHODS, DiffmgError, Settings
from diffmg.core.candidate import Candidate
from diffmg.core.metagraph import MetaGraph
from diffmg.methods.baselines.gcn import GCN
from diffmg.methods.baselines.popularity import Popularity
from diffmg.methods.given import Given
from diffmg.methods.search.diffmg import DiffMG
from diffmg.race.trial import LEAST_EPOCHS, Outcome, Trial, failure, packed, train, unpacked
from diffmg.tasks import NodeClassification, Problem
from diffmg.training.fitted import training_of
from diffmg.training.training import outputs_of

SETTINGS = Settings(dim=8, max_epochs=12, patience=None)


def test_it_is_the_same_as_training_by_hand(problem):
    outcome = train(problem, Trial(Candidate(GCN(), SETTINGS), seed=3))
    training = training_of(problem, GCN().network(problem, SETTINGS, 3), SETTINGS, 3)
    while not training.done:
        training.advance()
    wanted = training.best_model()
    assert (outcome.epochs, outcome.best_epoch, outcome.cut) == (12, training.best_epoch, False)
    assert outcome.score == pytest.approx(training.best_score)
    assert all(torch.equal(t, outcome.weights[name]) for name, t in wanted.state_dict().items())
    assert torch.equal(outcome.votes, problem.task.votes(outputs_of(wanted, problem), "val"))


def test_what_a_search_found_is_part_of_the_outcome(classification):
    outcome = train(classification, Trial(Candidate(DiffMG(epochs=1, depth=2), SETTINGS), seed=0))
    assert [m.target for m in outcome.metagraphs] == ["author"]


def test_it_is_stopped_when_its_time_is_over_but_not_before_a_few_epochs(classification):
    outcome = train(classification, Trial(Candidate(GCN(), SETTINGS), seed=0, seconds=0.0))
    assert (outcome.epochs, outcome.cut) == (LEAST_EPOCHS, True)
    again = train(classification, Trial(Candidate(GCN(), SETTINGS), seed=0, epochs=LEAST_EPOCHS))
    assert not again.cut
    assert again.score == outcome.score, "by the epochs it had, it can be repeated"


@pytest.mark.parametrize(
    ("method", "words"),
    [(Popularity(), "serves 2 target types"), (Given((MetaGraph("venue", ((IDENTITY,),)),)), "meta graph for each")],
    ids=["check", "meta graph"],
)
def test_what_cannot_be_trained_is_an_outcome_without_a_model(method, words, classification):
    outcome = train(classification, Trial(Candidate(method, SETTINGS), seed=0))
    assert outcome.failed
    assert words in outcome.error
    assert not outcome.weights


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_running_out_of_memory_is_named(error):
    assert failure(error).error == "out of memory"


def test_a_long_message_is_cut_to_its_first_line():
    found = failure(ValueError("x" * 300 + "\nmore"))
    assert found.error == f"ValueError: {'x' * 200}"
    assert math.isnan(found.score)


def test_it_goes_through_a_pipe(classification):
    outcome = train(classification, Trial(Candidate(GCN(), SETTINGS), seed=0))
    back = unpacked(packed(outcome))
    assert torch.equal(back.votes, outcome.votes)
    assert all(torch.equal(t, outcome.weights[name]) for name, t in back.weights.items())
    assert unpacked(packed(Outcome(error="it broke"))) == Outcome(error="it broke")


@pytest.mark.parametrize("method", ["gcn", "svd", "boosting", "everything"])
def test_classes_evened_out_completely_are_those_of_a_balanced_task(classification, method):
    task = classification.task
    uneven = (task.labels == 0).long().numpy()
    parts = {part: index.numpy() for part, index in task.parts.items()}
    found = []
    for balance, weight in ((1.0, None), (0.0, "balanced"), (0.0, None)):
        given = NodeClassification.build(task.target, uneven, **parts, class_weight=weight)
        candidate = Candidate(METHODS.get(method)(), replace(SETTINGS, balance=balance))
        found.append(train(Problem(classification.graph, given), Trial(candidate, seed=0)))
    by_setting, by_task, without = found
    assert by_setting.score == by_task.score
    assert all(torch.equal(by_setting.weights[name], value) for name, value in by_task.weights.items())
    assert any(not torch.equal(by_setting.weights[name], value) for name, value in without.weights.items())


def test_evening_out_is_for_classes(recommendation):
    with pytest.raises(DiffmgError, match=r"`balance` evens classes out, but got balance=0\.5 for "):
        METHODS.get("gcn")().check(recommendation, Settings(balance=0.5))
