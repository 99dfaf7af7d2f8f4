from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import IDENTITY
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.methods.search import genetic
from diffmg.methods.search._trained import Trial
from diffmg.methods.search.genetic import Genetic, crossed, mutated
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from resuming import run

DEPTH, SEED = 2, 3
SMALL = Genetic(population=4, generations=3)


def started(problem: Problem, settings: Settings, options: Genetic = SMALL, seed: int = SEED, depth: int = DEPTH):
    return replace(options, depth=depth).search(problem, settings, seed)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often each candidate was judged; the more identity links, the better. Nothing is trained."""
    calls: Counter = Counter()

    def judge(problem, candidates, settings, seed):
        calls.update(candidates)
        values = [float(sum(o == (IDENTITY,) for m in c for o in m.operations)) for c in candidates]
        return [Trial(v, 0.0, 0.0, v) for v in values]

    monkeypatch.setattr(genetic, "judge", judge)
    return calls


def test_finds_the_best_of_all_that_were_trained(problem):
    """Each of them trained alone."""
    settings = Settings(dim=4, max_epochs=3)
    search = started(problem, settings)
    records = run(search)
    alone = {}
    for genes in search.results:
        training = Training(problem, search._metagraphs(genes), settings, derive_seed(SEED, "train"))
        run(training)
        alone[genes] = training.best_value
    assert {genes: trial.value for genes, trial in search.results.items()} == alone
    assert search.found() == search._metagraphs(max(alone, key=alone.get))
    assert problem.task.sign * records[-1].val_score == max(alone.values())


def test_every_candidate_is_in_the_space(problem, counted, quick):
    search = started(problem, quick, Genetic(population=6, generations=10, mutation=0.5))
    run(search)
    for candidate in counted:
        assert all(space.contains(m) for space, m in zip(search.spaces, candidate, strict=True))
        assert all(len(o) == 1 for m in candidate for o in m.operations)


def test_no_candidate_is_trained_twice(problem, counted, quick):
    search = started(problem, quick, Genetic(population=8, generations=20, mutation=0.05))
    run(search)
    assert set(counted.values()) == {1}
    assert len(counted) == len(search.results) < 8 * 20


def test_climbs_where_random_draws_do_not(classification, counted, quick):
    """Identity on all links but the last, which may not have it: one in thousands of this space."""
    options = Genetic(population=20, generations=40)
    search = started(classification, quick, options, depth=4)
    records = run(search)
    scores = [r.val_score for r in records]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1] == sum(IDENTITY in c for c in search.spaces[0].candidates) == 9


def test_the_best_live_on(problem, counted, quick):
    search = started(problem, quick, Genetic(population=6, generations=9, elite=2, mutation=1.0))
    search.advance()
    for _ in range(8):
        before = sorted(dict.fromkeys(search.population), key=lambda g: -search.results[g].value)[:2]
        search.advance()
        assert search.population[: len(before)] == before
        assert len(search.population) == 6


def test_a_parent_is_the_best_of_its_tournament(problem, counted, quick):
    search = started(problem, quick, Genetic(population=6, tournament=50))
    search.advance()
    best = max(search.results[g].value for g in search.population)
    assert {search.results[search._winner(random.Random(n))].value for n in range(20)} == {best}
    search.options = replace(search.options, tournament=1)
    assert {search._winner(random.Random(n)) for n in range(200)} == set(search.population)


def test_without_crossover_and_mutation_nothing_new_is_seen(problem, counted, quick):
    search = started(problem, quick, Genetic(population=5, generations=6, crossover=0.0, mutation=0.0))
    first = set(search.population)
    run(search)
    assert set(search.results) == first


def test_a_child_has_each_link_from_either_parent():
    one, other = (0,) * 400, (1,) * 400
    child = crossed(one, other, random.Random(0))
    assert 150 < sum(child) < 250
    assert crossed(one, one, random.Random(0)) == one
    assert crossed(one, other, random.Random(0)) == child


def test_mutation_moves_a_share_of_the_links_to_another_candidate():
    counts = (3,) * 3000
    genes = tuple(n % 3 for n in range(3000))
    child = mutated(genes, counts, 0.2, random.Random(0))
    moved = [(a, b) for a, b in zip(genes, child, strict=True) if a != b]
    assert 500 < len(moved) < 700
    assert {(b - a) % 3 for a, b in moved} == {1, 2}
    assert set(child) == {0, 1, 2}
    assert mutated(genes, counts, 0.0, random.Random(0)) == genes
    assert all(a != b for a, b in zip(genes, mutated(genes, counts, 1.0, random.Random(0)), strict=True))


def test_a_link_with_one_candidate_stays():
    assert mutated((0, 0), (1, 2), 1.0, random.Random(0)) == (0, 1)


def test_towers_are_taken_apart_where_they_meet(recommendation, quick):
    search = started(recommendation, quick)
    first, second = search.spaces
    genes = tuple(count - 1 for count in search.counts)
    middle = len(first.candidates)
    assert middle + len(second.candidates) == len(genes)
    assert search._metagraphs(genes) == (first.metagraph(genes[:middle]), second.metagraph(genes[middle:]))


def test_depends_on_the_seed_alone(problem, counted, quick):
    def seen(seed: int) -> list:
        search = started(problem, quick, seed=seed)
        run(search)
        return list(search.results)

    random.seed(1)
    first = seen(SEED)
    random.seed(2)
    assert seen(SEED) == first
    assert seen(4) != first


def test_before_the_first_generation_one_of_the_population_is_found(problem, quick):
    search = started(problem, quick)
    assert search.found() == search._metagraphs(search.population[0])


@pytest.mark.parametrize(
    "wrong",
    [{"population": 0}, {"generations": 0}, {"tournament": 0}, {"crossover": 1.5}, {"mutation": -0.1}, {"elite": 20}],
    ids=str,
)
def test_rules_are_checked_with_the_value_shown(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(DiffmgError, match=f"{name} .*must hold, but got .*{name}={value}"):
        Genetic(**wrong)
