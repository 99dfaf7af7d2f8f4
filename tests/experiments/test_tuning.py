from __future__ import annotations

import math
import weakref
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.plan import Plan
from diffmg.core.run import Run
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.methods.given import Given
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.runs.runner import run
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Job, ModelTraining, Quiet
from experiments import tuning as module
from experiments.tuned import How, Tuning
from experiments.tuning import DECAYS, DROPOUTS, RATES, Trial, chosen, trials_sheet, tune

BASE = Settings(dim=8, max_epochs=8, patience=None)
MLP = Plan(MethodSpec("mlp"), settings=BASE, device="cpu")
RANDOM = Plan(MethodSpec("random", {"search_seeds": 1}), settings=BASE, device="cpu")
SLOW = Plan(MethodSpec("gcn"), settings=replace(BASE, lr=1e-7), device="cpu")
"""Learns so little that what is drawn is better."""
ONE_EPOCH = replace(BASE, max_epochs=1)
DRAWN = [
    ({}, {}),
    ({"lr": 0.01, "weight_decay": 0.005, "dropout": 0.5}, {"layers": 2}),
    ({"lr": 0.001, "weight_decay": 0.005, "dropout": 0.5}, {"layers": 3}),
    ({"lr": 0.02, "weight_decay": 0.005, "dropout": 0.4}, {"layers": 2}),
]
"""What seed 1 draws for the perceptron; the file of chosen settings rests on it."""


def base_of(trials: list[Trial]) -> Trial:
    (base,) = (trial for trial in trials if not trial.settings)
    return base


def done(plan: Plan, problem: Problem) -> Run:
    return run(plan, problem)[0]


@pytest.mark.parametrize("how", ["random", "halving"])
@pytest.mark.parametrize("budget", [1, 5])
def test_the_budget_is_the_number_of_trials_and_the_best_comes_first(problem: Problem, how: How, budget: int) -> None:
    trials = tune(problem, MLP, Tuning(budget, how))
    assert len(trials) == budget
    assert [t.val_score for t in trials] == sorted((t.val_score for t in trials), reverse=True)
    assert base_of(trials).options == {}


@pytest.mark.parametrize("plan", [MLP, RANDOM])
def test_the_base_is_trained_as_a_run_would_train_it(plan: Plan, classification: Problem) -> None:
    base = base_of(tune(classification, plan, Tuning(2, seed=3)))
    assert base.val_score == pytest.approx(done(replace(plan, seed=3), classification).mean("val"))
    assert base.epochs == 8


def test_a_method_searches_as_often_as_it_says_and_no_more(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Counter[int]()
    search = RandomMetaGraph.search

    def counted(self: RandomMetaGraph, problem: Problem, settings: Settings, seed: int) -> Any:
        searches[seed] += 1
        return search(self, problem, settings, seed)

    monkeypatch.setattr(RandomMetaGraph, "search", counted)
    trials = tune(classification, replace(RANDOM, method=MethodSpec("random", {"search_seeds": 2})), Tuning(3, seed=2))
    assert searches == {derive_seed(2, "search", n): 1 for n in range(2)}
    assert all(trial.options == {} for trial in trials)


@pytest.mark.parametrize("seed", range(3))
def test_of_several_searches_the_best_by_validation_is_tuned(classification: Problem, seed: int) -> None:
    plan = replace(RANDOM, method=MethodSpec("random", {"search_seeds": 3}), seed=seed)
    found = done(plan, classification)
    scores = [candidate.val_score for candidate in found.candidates]
    assert len(set(scores)) > 1
    base = base_of(tune(classification, plan, Tuning(2, seed=seed)))
    assert base.val_score == pytest.approx(max(scores)) == pytest.approx(found.mean("val"))


@pytest.mark.parametrize("how", ["random", "halving"])
def test_settings_are_compared_by_what_chooses_the_epoch(classification: Problem, how: How) -> None:
    plan, tuning = replace(MLP, settings=replace(BASE, select="loss")), Tuning(8, how, seed=1)
    trials = tune(classification, plan, tuning)
    losses = [-trial.value for trial in trials]
    assert losses == sorted(losses)
    assert [t.val_score for t in trials] != sorted((t.val_score for t in trials), reverse=True)
    best = chosen(trials, plan, tuning, "mlp")
    assert (best.select, best.value, best.val_score) == ("loss", -losses[0], trials[0].val_score)
    found = done(best.applied(replace(plan, seed=1)), classification)
    assert found.trained[0].val["macro_f1"] == pytest.approx(best.val_score)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_the_best_quarter_is_trained_again_and_its_mean_decides(classification: Problem, how: How) -> None:
    once, tuning = tune(classification, MLP, Tuning(12, how, 1)), Tuning(12, how, 1, trainings=3)
    trials = tune(classification, MLP, tuning)
    finals, rest = trials[:3], trials[3:]
    assert rest == once[3:]
    assert {(t.trainings, t.epochs) for t in finals} == {(3, 24)}
    assert [t.value for t in finals] == sorted((t.value for t in finals), reverse=True)
    best = chosen(trials, MLP, tuning, "mlp")
    assert (best.tuning, best.value) == (tuning, finals[0].value)
    found = done(best.applied(replace(MLP, seed=1, repeats=3)), classification)
    assert found.mean("val") == pytest.approx(finals[0].val_score)


def test_a_seed_that_does_not_learn_costs_its_settings_the_choice(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is best once has no score at all from another seed."""
    once = tune(classification, MLP, Tuning(12, seed=1))

    class Moody(ModelTraining):
        def __init__(self, problem: Problem, model: Any, settings: Settings, seed: int) -> None:
            lucky = seed == derive_seed(1, "train", 0)
            best = replace(settings, **once[0].settings) == settings
            super().__init__(problem, model, replace(settings, lr=1e30) if best and not lucky else settings, seed)

    monkeypatch.setattr(module, "ModelTraining", Moody)
    trials = tune(classification, MLP, Tuning(12, seed=1, trainings=2))
    assert trials[0].settings != once[0].settings
    assert (trials[-1].settings, trials[-1].value) == (once[0].settings, -math.inf)
    assert [t.trainings for t in trials] == [2] * 2 + [1] * 9 + [2]


def test_tuning_follows_from_its_seed_and_a_larger_budget_goes_on(classification: Problem) -> None:
    one, same, other, few = (
        tune(classification, MLP, Tuning(budget, seed=seed)) for seed, budget in ((1, 5), (1, 5), (2, 5), (1, 3))
    )
    assert one == same
    assert {str(t.settings) for t in one} != {str(t.settings) for t in other}
    assert all(trial in one for trial in few)


def test_halving_trains_less_and_keeps_the_best_so_far(classification: Problem) -> None:
    halved = tune(classification, MLP, Tuning(8, "halving", 1))
    drawn = [(t.settings, t.options) for t in tune(classification, MLP, Tuning(8, "random", 1))]
    assert Counter(t.epochs for t in halved) == {2: 4, 4: 2, 8: 2}
    assert all((t.settings, t.options) in drawn for t in halved)
    for before, after in ((2, 4), (4, 8)):
        reached = [(score_after(classification, t, before), t.epochs) for t in halved if t.epochs >= before]
        going_on = [score for score, epochs in reached if epochs >= after]
        assert min(going_on) >= max((score for score, epochs in reached if epochs < after), default=0)


def score_after(problem: Problem, trial: Trial, epochs: int) -> float:
    """The best score of a perceptron with a trial's settings and options after so many epochs, from seed 1."""
    settings, seed = replace(BASE, **trial.settings), derive_seed(1, "train", 0)
    job = ModelTraining(
        problem, MethodSpec("mlp", trial.options).make().network(problem, settings, seed), settings, seed
    )
    while job.epoch < epochs:
        job.advance()
    return job.best_score


def test_halving_trains_the_base_to_the_end_however_bad(classification: Problem) -> None:
    trials = tune(classification, SLOW, Tuning(6, "halving", 4))
    assert base_of(trials).epochs == 8
    assert base_of(trials).val_score < sorted(t.val_score for t in trials)[-2]


def test_patience_ends_a_trial(classification: Problem) -> None:
    plan = replace(MLP, settings=replace(BASE, max_epochs=60, patience=1))
    assert all(t.epochs < 60 for t in tune(classification, plan, Tuning(2)))


def test_options_come_from_what_is_tunable(classification: Problem) -> None:
    drawn = [t for t in tune(classification, replace(MLP, settings=ONE_EPOCH), Tuning(20)) if t.settings]
    assert {t.options["layers"] for t in drawn} == {1, 2, 3}
    assert all(set(t.options) == {"layers"} for t in drawn)
    for name, values in (("lr", RATES), ("weight_decay", DECAYS), ("dropout", DROPOUTS)):
        assert {t.settings[name] for t in drawn} <= set(values)


def test_a_plan_s_own_options_stay_beneath_what_is_tried(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    gtn, made = METHODS.get("gtn"), []
    network = gtn.network

    def noted(self: Any, *given: Any) -> Any:
        made.append((self.channels, self.hops))
        return network(self, *given)

    monkeypatch.setattr(gtn, "network", noted)
    plan = replace(MLP, method=MethodSpec("gtn", {"channels": 1, "hops": 1}), settings=ONE_EPOCH)
    trials = tune(classification, plan, Tuning(4))
    assert made[0] == (1, 1)
    assert {(1, t.options["hops"]) for t in trials if t.settings} == set(made[1:])
    assert all("channels" not in trial.options for trial in trials)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_what_is_drawn_stays_what_it_was(how: How, classification: Problem) -> None:
    trials = tune(classification, replace(MLP, settings=ONE_EPOCH), Tuning(4, how, 1))
    assert sorted([(t.settings, t.options) for t in trials], key=str) == sorted(DRAWN, key=str)


def test_every_method_has_draws_of_its_own(classification: Problem) -> None:
    plans = [replace(plan, settings=ONE_EPOCH) for plan in (MLP, replace(MLP, method=MethodSpec("gcn")), RANDOM)]
    found = [tune(classification, plan, Tuning(5)) for plan in plans]
    assert len({str(sorted(str(t.settings) for t in trials)) for trials in found}) == 3


class Sealed(NodeClassification):
    """A task whose test labels must not be read."""

    def loss(self, outputs: tuple[Tensor, ...], part: Any) -> Tensor:
        assert part != "test"
        return super().loss(outputs, part)

    def scores(self, outputs: tuple[Tensor, ...], part: Any) -> dict[str, Tensor]:
        assert part != "test"
        return super().scores(outputs, part)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_test_labels_are_never_read(how: How, classification: Problem) -> None:
    task = classification.task
    assert isinstance(task, NodeClassification)
    sealed = Problem(classification.graph, Sealed(task.target, task.labels, task.parts, task.classes))
    for plan in (MLP, RANDOM):
        assert tune(sealed, plan, Tuning(3, how)) == tune(classification, plan, Tuning(3, how))
    with pytest.raises(AssertionError):
        run(MLP, sealed)


def test_given_meta_graphs_are_not_searched(classification: Problem) -> None:
    found = done(RANDOM, classification).metagraphs
    (base,) = tune(classification, replace(RANDOM, method=Given(found).spec()), Tuning(1))
    assert base == base_of(tune(classification, RANDOM, Tuning(1)))


@pytest.mark.parametrize("how", ["random", "halving"])
def test_a_watch_is_told_of_every_training(how: How, classification: Problem) -> None:
    told: list[tuple[str, int]] = []

    class Noting(Quiet):
        def begin(self, phase: str, job: Job) -> None:
            told.append((phase, 0))

        def epoch(self, record: Epoch) -> None:
            told[-1] = told[-1][0], told[-1][1] + 1

    plan, tuning = replace(RANDOM, method=MethodSpec("random", {"search_seeds": 2})), Tuning(4, how, trainings=2)
    trials = tune(classification, plan, tuning, Noting())
    phases = [phase for phase, _ in told]
    assert phases[:2] == ["train-0", "train-1"]
    assert phases[-2:] == ["again 1", "again 2"]
    assert set(phases[2:-2]) == {"setting 1", "setting 2", "setting 3", "setting 4"}
    assert sum(epochs for _, epochs in told[2:]) == sum(trial.epochs for trial in trials)


@pytest.mark.parametrize(("how", "most"), [("random", 1), ("halving", 4)])
def test_random_tuning_keeps_one_training_in_memory(
    how: How, most: int, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: weakref.WeakSet[ModelTraining] = weakref.WeakSet()
    counts = []

    class Counted(ModelTraining):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            alive.add(self)
            counts.append(len(alive))

    monkeypatch.setattr(module, "ModelTraining", Counted)
    tune(classification, MLP, Tuning(4, how, trainings=3))
    assert (len(counts), max(counts)) == (4 + 2 * 2, most)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_a_training_without_a_score_comes_last_and_is_never_chosen(classification: Problem, how: How) -> None:
    """The base diverges at once; what is drawn does not."""
    plan = replace(MLP, settings=replace(BASE, lr=1e30))
    trials = tune(classification, plan, Tuning(3, how))
    assert (trials[-1].settings, trials[-1].val_score) == ({}, -math.inf)
    assert trials[0].val_score > 0
    assert chosen(trials, plan, Tuning(3, how), "mlp").base_val_score == -math.inf


def test_what_was_chosen_is_the_best_trial_in_full(classification: Problem) -> None:
    tuning = Tuning(6, "halving", 4)
    trials = tune(classification, SLOW, tuning)
    best = chosen(trials, SLOW, tuning, "row")
    assert (best.method, best.tuning) == ("row", tuning)
    assert best.val_score == trials[0].val_score > best.base_val_score == base_of(trials).val_score
    assert (best.settings, best.options) == (trials[0].settings, trials[0].options)


def test_where_the_base_is_best_it_is_written_out() -> None:
    plan = replace(MLP, settings=replace(BASE, lr=0.125))
    trials = [Trial({}, {}, 0.5, 0.5, 8), Trial({"lr": 0.02}, {"layers": 2}, 0.25, 0.25, 8)]
    best = chosen(trials, plan, Tuning(2), "mlp")
    assert best.settings == {"lr": 0.125, "weight_decay": BASE.weight_decay, "dropout": BASE.dropout}
    assert best.options == {}


def test_trials_are_shown_as_a_table() -> None:
    sheet = trials_sheet("it", [Trial({"lr": 0.02}, {"layers": 2}, 0.25, 0.25, 8, 3), Trial({}, {}, 0.5, 0.5, 8)])
    assert sheet.rows == (
        ("0.2500", "3", "8", "lr=0.02", "layers=2"),
        ("0.5000", "1", "8", "as they were", "as they were"),
    )


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (MethodSpec("randm"), "did you mean 'random'"),
        (MethodSpec("random", {"trails": 1}), "'trails'"),
        (MethodSpec("popularity"), "'popularity' serves"),
    ],
)
def test_a_method_that_is_not_there_or_cannot_do_the_task_is_named(
    method: MethodSpec, words: str, classification: Problem
) -> None:
    with pytest.raises(DiffmgError, match=words):
        tune(classification, replace(MLP, method=method), Tuning(1))
