from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import IDENTITY
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.methods.search.random_search import RandomSearch, draw
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from resuming import run

DEPTH, SEED = 2, 3


def started(problem: Problem, settings: Settings, seed: int = SEED, **options):
    return RandomSearch(**({"depth": DEPTH, "trials": 5, "batch": 2} | options)).search(problem, settings, seed)


def trained_alone(problem: Problem, settings: Settings, metagraphs) -> tuple[Training, list]:
    training = Training(problem, metagraphs, settings, derive_seed(SEED, "train"))
    return training, run(training)


@pytest.mark.parametrize("select", ["score", "loss"])
def test_finds_the_best_of_its_trials_trained_alone(problem, select):
    settings = Settings(dim=4, max_epochs=4, patience=2, select=select)
    search = started(problem, settings)
    alone = [trained_alone(problem, settings, metagraphs) for metagraphs in search.trials]
    values = [training.best_value for training, _ in alone]
    assert len(set(values)) > 1
    records = run(search)
    for number, record in enumerate(records, start=1):
        seen = values[: 2 * number]
        training, history = alone[seen.index(max(seen))]
        best = history[training.best_epoch - 1]
        wanted = (number, best.train_loss, best.val_loss, best.val_score)
        assert (record.epoch, record.train_loss, record.val_loss, record.val_score) == wanted
    assert search.found() == search.trials[values.index(max(values))]


def test_an_epoch_is_a_batch(problem, quick):
    search = started(problem, quick, trials=5, batch=2)
    assert search.total == 3
    sizes = [search.advance() and len(search.results) for _ in range(3)]
    assert sizes == [2, 4, 5]
    assert search.done


def test_before_the_first_batch_the_first_trial_is_found(problem, quick):
    search = started(problem, quick)
    assert search.found() == search.trials[0]


@pytest.mark.parametrize("operations", [1, 2, 99])
def test_trials_are_in_the_space_and_have_so_many_operations_a_link(problem, quick, operations):
    spaces = [SearchSpace.dag(problem.graph.schema, t, DEPTH) for t in problem.task.target_types]
    for trial in started(problem, quick, trials=30, operations=operations).trials:
        for space, metagraph in zip(spaces, trial, strict=True):
            assert space.contains(metagraph)
            assert [len(o) for o in metagraph.operations] == [min(operations, len(c)) for c in space.candidates]


def test_every_choice_of_operations_is_equally_likely(classification):
    space = SearchSpace.dag(classification.graph.schema, classification.task.target_types[0], 2)
    rng, candidates = random.Random(0), space.candidates[0]
    drawn = Counter(draw(space, 2, rng).operations[0] for _ in range(4000))
    pairs = list(combinations(candidates, 2))
    assert set(drawn) == set(pairs)
    assert all(abs(drawn[pair] * len(pairs) / 4000 - 1) < 0.3 for pair in pairs)


def test_nothing_is_tried_twice(classification, quick):
    """A space of few meta graphs runs out."""
    search = RandomSearch(depth=1, trials=60).search(classification, quick, 0)
    size = SearchSpace.dag(classification.graph.schema, classification.task.target_types[0], 1).size
    assert len(search.trials) == len(set(search.trials)) == size < 60


def test_trials_depend_on_the_seed_alone(problem, quick):
    random.seed(1)
    first = started(problem, quick).trials
    random.seed(2)
    assert started(problem, quick).trials == first
    assert started(problem, quick, seed=4).trials != first


def test_a_trial_without_a_number_is_never_the_best(classification, quick):
    search = started(classification, quick, batch=1)
    search.advance()
    search.restore({}, {"shown": [[-float("inf"), *[float("nan")] * 3], *search.numbers()["shown"]]})
    assert search.found() == search.trials[1]


def test_identity_last_widens_the_space(classification, quick):
    trials = started(classification, quick, trials=60, identity_last=True).trials
    assert any(metagraph[2, 1] == (IDENTITY,) for (metagraph,) in trials)


@pytest.mark.parametrize("option", ["trials", "batch", "operations"])
def test_rules_are_checked_with_the_value_shown(option):
    with pytest.raises(DiffmgError, match=f"`{option} >= 1` must hold, but got .*{option}=0"):
        RandomSearch(**{option: 0})
