from __future__ import annotations

import math

import pytest
from fake import Fake

from diffmg.core import DiffmgError, Plan, Settings
from diffmg.core.budget import Budget
from diffmg.core.candidate import Candidate, OptionSpace
from diffmg.datasets import load_dataset
from diffmg.methods._wide import WideSpace
from diffmg.methods.auto import Auto
from diffmg.methods.baselines.gcn import GCN
from diffmg.race.board import OWN, Turn
from diffmg.race.executor import Local
from diffmg.race.field import FOLDS, REPEATS, Field
from diffmg.race.loop import Race
from diffmg.race.rules import Rules, batch_of
from resuming import assert_same_state, resumed, run


def by_rate(candidate: Candidate) -> float:
    """Best at a learning rate of 0.005."""
    return 0.9 - abs(math.log(candidate.settings.lr / 0.005)) / 10


def race_of(problem, budget, value=by_rate, space=None, seed=0, folds=None, batch=4, ahead=0):
    field = Field.of(problem, folds)
    space = space or WideSpace.of(problem, Settings(), 3, 2)
    rules = Rules(Budget.parse(budget), seed, batch, field.further, ahead=ahead)
    race = Race(field, space, rules, Fake(value))
    race.simplifies = False
    return race


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("budget", [1, 2, 7, 40])
def test_a_budget_of_trainings_is_kept(problem, budget, ahead):
    race = race_of(problem, budget, ahead=ahead)
    run(race)
    assert race.epoch == race.board.trainings == len(race.executor.trials) <= budget
    assert race.epoch >= budget - FOLDS - 2
    assert race.total == budget


def test_the_best_are_trained_again_on_folds(classification):
    race = race_of(classification, 60, folds=FOLDS)
    run(race)
    again = [entry for entry in race.board.entries if len(entry.values) > 1]
    assert again
    assert all(set(e.values) == {Turn(fold, 0) for fold in range(FOLDS + 1)} for e in again)
    assert len(again) == (60 - race.explored - 1 - FOLDS) // FOLDS
    assert max(race.board.entries, key=lambda entry: entry.values[Turn(0, 0)]) in again


def test_the_best_are_trained_again_from_other_seeds(recommendation):
    race = race_of(recommendation, 60)
    run(race)
    again = [entry for entry in race.board.entries if len(entry.values) > 1]
    assert again
    assert all(set(e.values) == {OWN, *REPEATS} for e in again)
    seeds = {trial.seed for trial in race.executor.trials}
    assert len(seeds) == len(REPEATS) + 1, "every candidate starts from the same seeds"


@pytest.mark.parametrize("ahead", [0, 1])
def test_nothing_is_tried_twice(problem, ahead):
    race = race_of(problem, 80, ahead=ahead)
    run(race)
    keys = [race._key(entry.candidate) for entry in race.board.entries]
    assert len(keys) == len(set(keys))


def test_a_small_space_is_exhausted_and_the_race_ends(classification):
    space = OptionSpace(Candidate(GCN(), Settings()), {}, {"lr": (0.001, 0.01)})
    race = race_of(classification, 100, space=space)
    run(race)
    assert len(race.board.entries) == 2
    assert {e.candidate.settings.lr for e in race.board.entries} == {0.001, 0.01}


def test_the_proposers_get_better(classification):
    """Late candidates, proposed from what is known, are better than the first ones, drawn at random."""
    space = WideSpace.of(classification, Settings(), 2, 1)
    race = race_of(classification, 160, space=space, value=lambda c: by_rate(c) - c.settings.dropout)
    run(race)
    values = [entry.value for entry in race.board.entries]
    drawn = [e.value for e in race.board.entries if e.origin == "chance"]
    made = [e.value for e in race.board.entries if e.origin in ("evolution", "surrogate")]
    assert sum(made) / len(made) > sum(drawn) / len(drawn) + 0.05
    assert max(values) >= max(drawn)


def test_it_is_the_same_from_the_same_seed_and_another_from_another(classification):
    def tried(seed):
        race = race_of(classification, 20, seed=seed)
        run(race)
        return [entry.candidate for entry in race.board.entries]

    assert tried(0) == tried(0)
    assert tried(0) != tried(1)


@pytest.mark.parametrize("ahead", [0, 1, 2])
@pytest.mark.parametrize("stop", [1, 3, 5])
def test_it_goes_on_where_it_was_stopped(problem, stop, ahead):
    def make():
        return race_of(problem, 30, ahead=ahead)

    straight, stopped = make(), make()
    run(straight)
    run(stopped, stop)
    again = resumed(stopped, make)
    run(again)
    assert_same_state(again, straight)


def test_a_batch_is_begun_before_the_results_of_the_one_before_are_known(problem):
    """The third batch is proposed knowing the first one alone, whatever came of the second."""
    race = race_of(problem, 40, ahead=1)
    known = []
    fresh = race._fresh
    race._fresh = lambda count: known.append(len(race.board.judged())) or fresh(count)
    run(race)
    assert known[:5] == [0, 0, 4, 8, 12]
    assert race.explored == len(race.board.entries) == 30


def test_failures_are_counted_and_passed_over(classification):
    race = race_of(classification, 40, value=lambda c: math.nan if c.settings.dropout > 0.6 else by_rate(c))
    run(race)
    failed = [e for e in race.board.entries if e.candidate.settings.dropout > 0.6]
    assert race.board.failed == len(failed) > 0
    assert all(e.error == "it had to fail" and len(e.values) == 1 for e in failed)


def test_all_candidates_failing_is_an_error(classification):
    with pytest.raises(DiffmgError, match=r"candidate that can be trained.*it had to fail"):
        run(race_of(classification, 8, value=lambda _: math.nan))


def run_by_the_clock(race, monkeypatch, pace=1.0, finals=1.0):
    """Run a race of which each training takes `pace` seconds; one of a finalist, `finals` times as long."""
    clock, land = [0.0], race._land
    monkeypatch.setattr("diffmg.race.loop.time.perf_counter", lambda: clock[0])

    def slow():
        clock[0] += pace * len(race.flights[0].which) * (1 if race.explored is None else finals)
        land()

    race._land = slow
    while not race.done:
        before = clock[0]
        race.advance()
        race.seconds += clock[0] - before


@pytest.mark.parametrize(("pace", "explored", "again"), [(1.0, 24, 2), (2.0, 8, 1), (4.0, 12, 0)])
def test_seconds_are_kept_back_for_a_finalist_on_all_folds(classification, monkeypatch, pace, explored, again):
    """Of 40 trainings 24 explore; of 20 it would be 12, and too few were left; of 10 there are too few anyway."""
    race = race_of(classification, "40s", folds=FOLDS)
    run_by_the_clock(race, monkeypatch, pace)
    assert race.explored == explored
    assert sum(len(entry.values) > 1 for entry in race.board.entries) == again


@pytest.mark.parametrize("ahead", [0, 1])
def test_seconds_are_kept_and_written_down_as_trainings(recommendation, monkeypatch, ahead):
    race = race_of(recommendation, "40s", ahead=ahead)
    run_by_the_clock(race, monkeypatch)
    assert 32 <= race.epoch <= 44
    assert (race.spent.trainings, race.spent.explored) == (race.epoch, race.explored)
    again = race_of(recommendation, race.spent, ahead=ahead)
    run(again)
    assert [e.candidate for e in again.board.entries] == [e.candidate for e in race.board.entries]
    assert again.epoch == race.epoch


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("finals", [0.2, 0.4, 1.0, 2.0])
def test_time_that_finalists_leave_is_for_further_ones(classification, monkeypatch, finals, ahead):
    race = race_of(classification, "40s", folds=FOLDS, ahead=ahead)
    run_by_the_clock(race, monkeypatch, finals=finals)
    assert 40 - finals * (2 * FOLDS + 2) <= race.seconds <= 40 + finals * race.rules.batch / 2
    assert bool(race.more) is (finals < 1)
    again = race_of(classification, race.spent, folds=FOLDS, ahead=ahead)
    run(again)
    assert [e.values for e in again.board.entries] == [e.values for e in race.board.entries]
    assert again.spent == race.spent


def test_finalists_that_were_cut_short_are_trained_to_the_end(recommendation):
    race = race_of(recommendation, Budget(trainings=30, explored=16, limits=(20,) * 16))
    run(race)
    first, later = race.executor.trials[:16], race.executor.trials[16:]
    assert all(t.settings.max_epochs == 20 for t in first)
    assert later
    assert all(t.settings.max_epochs >= 200 for t in later)
    again = [entry for entry in race.board.entries if len(entry.values) > 1]
    whole = [t.candidate for t in later if t.seed == race.seed_of(Turn(0, 0))]
    assert {id(c) for c in whole} == {id(entry.candidate) for entry in again}


def test_the_best_meta_graph_is_a_finalist(classification):
    """Even where rivals are better throughout."""
    space = Auto().space(classification, Settings())
    race = race_of(classification, 60, space=space, value=lambda c: 0.5 if c.metagraphs else 0.9)
    run(race)
    finalists = [e for e in race.board.entries if len(e.values) > 1]
    drawn = [e for e in race.board.entries if e.has_metagraph and e.origin != "simpler"]
    assert max(drawn, key=lambda e: e.values[Turn(0, 0)]) in finalists
    assert any(not e.has_metagraph for e in finalists)


@pytest.mark.parametrize("better", ["a rival", "a meta graph"])
def test_one_finalist_is_the_best_of_all(classification, better):
    space = Auto().space(classification, Settings())
    values = {"a rival": (0.9, 0.5), "a meta graph": (0.5, 0.9)}[better]
    race = race_of(classification, 24, space=space, value=lambda c: values[bool(c.metagraphs)], folds=FOLDS)
    run(race)
    (finalist,) = [e for e in race.board.entries if e.finalist]
    assert finalist.has_metagraph == (better == "a meta graph")
    assert finalist.value == 0.9


def test_folds_are_for_small_validation_parts(classification, recommendation):
    larger = load_dataset("academic:400")
    assert Field.of(larger).count == FOLDS
    assert Field.of(recommendation).count == 0, "pairs have no folds"
    assert Field.of(larger, 0).count == 0
    assert Field.of(classification).count == 0, "too few nodes have a label"
    assert Rules.of(Field(classification), Budget(trainings=3), 0, GCN()).turns == REPEATS


@pytest.mark.parametrize(
    ("plan", "cores", "wanted"),
    [
        ({"budget": Budget(seconds=60)}, 2, 4),
        ({"budget": Budget(seconds=60)}, 8, 16),
        ({"budget": Budget(seconds=60), "batch": 3}, 8, 3),
        ({"budget": Budget(trainings=60)}, 8, None),
        ({}, 8, None),
    ],
)
def test_a_race_against_time_keeps_all_cores_busy(plan, cores, wanted):
    """A number of trainings gives the same result on any number of cores."""
    assert batch_of(Plan(Auto().spec(), **plan), cores) == wanted


def test_more_trainings_at_once_may_take_longer_each(classification):
    budget = Budget(seconds=60)
    few, many = (Rules.of(Field(classification), budget, 0, GCN(), batch=batch).patience for batch in (4, 16))
    assert many == pytest.approx(4 * few)


def test_really_trained(problem, quick):
    """No fake: whole races of a few trainings."""
    race = race_of(problem, 6, space=Auto(rivals=False, searches_too=False).space(problem, quick))
    race.executor = Local()
    run(race)
    assert not race.board.failed
    assert all(math.isfinite(entry.value) for entry in race.board.entries)
