from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg import tuning as module
from diffmg.baselines import BASELINES, make_baseline
from diffmg.errors import DiffmgError
from diffmg.experiment import Experiment
from diffmg.plan import Plan
from diffmg.randomness import derive_seed
from diffmg.reproduction import read_reproduction
from diffmg.train import ModelTraining, Problem, TrainSettings
from diffmg.tuning import DECAYS, DROPOUTS, RATES, Trial, Tuning, to_toml, tune

BASE = TrainSettings(dim=8, max_epochs=8, patience=None)
TABLE = """
title = "small"
kind = "accuracy"
data = ["acm", "academic:120"]
seeds = 1
[methods.mlp]
baseline = "mlp"
"""


def base_of(trials: list[Trial]) -> Trial:
    (base,) = (trial for trial in trials if not trial.settings)
    return base


def trained(problem: Problem, trial: Trial, seed: int, epochs: int) -> ModelTraining:
    """A perceptron with a trial's settings and options, after so many epochs."""
    settings, job_seed = replace(BASE, **trial.settings), derive_seed(seed, "train", 0)
    model = make_baseline("mlp", trial.options).build(problem, settings, job_seed)
    job = ModelTraining(problem, model, settings, job_seed)
    while job.epoch < epochs:
        job.advance()
    return job


@pytest.mark.parametrize("how", ["random", "halving"])
@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_budget_is_the_number_of_trials_and_the_best_comes_first(problem: Problem, how, budget: int) -> None:
    trials = tune(problem, "mlp", BASE, Tuning(budget, how))
    assert len(trials) == budget
    assert [t.val_score for t in trials] == sorted((t.val_score for t in trials), reverse=True)
    assert base_of(trials).options == {}


def test_the_base_is_trained_as_a_run_would_train_it(classification: Problem) -> None:
    plan = Plan("", baseline="mlp", train=BASE, seed=3, device="cpu")
    run = Experiment(plan, classification).execute().run
    base = base_of(tune(classification, "mlp", BASE, Tuning(2, seed=3)))
    assert base.val_score == pytest.approx(run.mean("val"))
    assert base.epochs == 8


def test_a_strategy_is_searched_once_and_its_meta_graphs_are_kept(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Counter[str]()
    make = module.make_strategy

    def counted(name: str):
        searches[name] += 1
        return make(name)

    monkeypatch.setattr(module, "make_strategy", counted)
    trials = tune(classification, "random", BASE, Tuning(3, seed=2))
    assert searches == {"random": 1}
    assert all(trial.options == {} for trial in trials)
    plan = Plan("", strategy="random", search_seeds=1, train=BASE, seed=2, device="cpu")
    assert base_of(trials).val_score == pytest.approx(Experiment(plan, classification).execute().run.mean("val"))


def test_tuning_follows_from_its_seed(classification: Problem) -> None:
    one, same, other = (tune(classification, "mlp", BASE, Tuning(5, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert {str(t.settings) for t in one} != {str(t.settings) for t in other}


def test_a_larger_budget_goes_on_from_a_smaller_one(classification: Problem) -> None:
    few, many = (tune(classification, "mlp", BASE, Tuning(budget)) for budget in (3, 5))
    assert all(trial in many for trial in few)


def test_scores_are_those_of_trainings_with_these_settings(classification: Problem) -> None:
    for trial in tune(classification, "mlp", BASE, Tuning(4, seed=5)):
        assert trained(classification, trial, 5, 8).best_score == trial.val_score


def test_halving_trains_less_and_keeps_the_best_so_far(classification: Problem) -> None:
    budget, seed = 8, 1
    halved = tune(classification, "mlp", BASE, Tuning(budget, "halving", seed))
    random = tune(classification, "mlp", BASE, Tuning(budget, "random", seed))
    assert sum(t.epochs for t in halved) < sum(t.epochs for t in random) == 8 * budget
    assert Counter(t.epochs for t in halved) == {2: 4, 4: 2, 8: 2}
    drawn = [(t.settings, t.options) for t in random]
    assert all((t.settings, t.options) in drawn for t in halved)
    for before, after in ((2, 4), (4, 8)):
        reached = [
            (trained(classification, t, seed, before).best_score, t.epochs) for t in halved if t.epochs >= before
        ]
        going_on = [score for score, epochs in reached if epochs >= after]
        assert max(score for score, _ in reached) in going_on
        assert min(going_on) >= max((score for score, epochs in reached if epochs < after), default=0)


def test_patience_ends_a_trial(classification: Problem) -> None:
    base = replace(BASE, max_epochs=60, patience=1)
    assert all(t.epochs < 60 for t in tune(classification, "mlp", base, Tuning(2)))


def test_options_come_from_what_is_tunable(classification: Problem) -> None:
    trials = tune(classification, "mlp", replace(BASE, max_epochs=1), Tuning(30))
    drawn = [t for t in trials if t.settings]
    assert {t.options["layers"] for t in drawn} == {1, 2, 3}
    assert all(set(t.options) == {"layers"} for t in drawn)
    assert all(set(t.settings) == {"lr", "weight_decay", "dropout"} for t in drawn)
    for name, values in (("lr", RATES), ("weight_decay", DECAYS), ("dropout", DROPOUTS)):
        assert {t.settings[name] for t in drawn} <= set(values)


def test_a_method_without_tunable_options_has_none(recommendation: Problem) -> None:
    assert BASELINES.get("popularity").tunable == {}
    assert all(t.options == {} for t in tune(recommendation, "popularity", replace(BASE, max_epochs=1), Tuning(3)))


@pytest.mark.parametrize("name", [name for name, _ in BASELINES.items()])
def test_every_value_that_may_be_tried_can_be_made_and_written(name: str) -> None:
    for option, values in BASELINES.get(name).tunable.items():
        for value in values:
            make_baseline(name, {option: value})
            trials = [Trial({}, {option: value}, 0.5, 1)]
            found = tomllib.loads(to_toml(name, "acm", trials, BASE, Tuning()))
            assert found["methods"][name]["baseline_options"] == {"acm": {option: value}}


def test_the_best_trial_is_a_piece_of_a_plan_file(classification: Problem, tmp_path: Path) -> None:
    trials = tune(classification, "mlp", BASE, Tuning(6, seed=4))
    (tmp_path / "table.toml").write_text(TABLE + to_toml("mlp", "acm", trials, BASE, Tuning(6, seed=4)))
    (method,) = read_reproduction(tmp_path / "table.toml").methods
    plan = method.plan("acm", 1, 0, "cpu")
    best = trials[0]
    wanted = {"lr": BASE.lr, "weight_decay": BASE.weight_decay, "dropout": BASE.dropout} | dict(best.settings)
    assert plan.train == replace(TrainSettings(), **wanted)
    assert plan.baseline_options == best.options
    assert method.plan("academic:120", 1, 0, "cpu").train == TrainSettings()


@pytest.mark.parametrize("data", ["academic:120", "yelp@7"])
def test_any_name_of_data_can_be_written(data: str) -> None:
    found = tomllib.loads(to_toml("mlp", data, [Trial({}, {}, 0.5, 1)], BASE, Tuning()))
    assert set(found["methods"]["mlp"]["settings"]) == {data}


def test_pieces_of_two_data_sets_can_stand_in_one_file(tmp_path: Path) -> None:
    trials = [Trial({"lr": 0.02}, {"layers": 2}, 0.5, 1), Trial({}, {}, 0.25, 1)]
    pieces = [to_toml("mlp", data, trials, BASE, Tuning()) for data in ("acm", "imdb")]
    (tmp_path / "table.toml").write_text(TABLE + "".join(pieces))
    (method,) = read_reproduction(tmp_path / "table.toml").methods
    assert set(method.settings) == set(method.baseline_options) == {"acm", "imdb"}


def test_halving_never_ends_below_the_base(classification: Problem) -> None:
    base = TrainSettings(dim=8, max_epochs=20, patience=None)
    for seed in range(4):
        trials = tune(classification, "mlp", base, Tuning(4, "halving", seed))
        (started,) = (t for t in trials if not t.settings)
        assert started.epochs == 20
        assert trials[0].val_score >= started.val_score


def test_a_piece_says_how_it_was_chosen() -> None:
    trials = [Trial({"lr": 1e-05, "dropout": 0.0}, {"layers": 3}, 0.75, 8), Trial({}, {}, 0.5, 8)]
    text = to_toml("mlp", "acm", trials, BASE, Tuning(7, "halving", 9))
    assert "# diffmg tune mlp acm --budget 7 --how halving --seed 9\n" in text
    assert "# validation 0.7500; the settings it started from reached 0.5000\n" in text
    found = tomllib.loads(text)["methods"]["mlp"]
    assert found["settings"]["acm"] == {"lr": 1e-05, "weight_decay": BASE.weight_decay, "dropout": 0.0}


def test_where_the_base_is_best_it_is_written_out() -> None:
    found = tomllib.loads(to_toml("mlp", "acm", [Trial({}, {}, 0.5, 8)], BASE, Tuning()))
    assert found == {"methods": {"mlp": {"settings": {"acm": {"lr": 0.01, "weight_decay": 0.001, "dropout": 0.5}}}}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": 0}, "`budget >= 1` must hold"),
        ({"budget": 2.5}, "`budget` must be a whole number, but got budget=2.5"),
        ({"how": "grid"}, "`how` must be one of 'random', 'halving', but got how='grid'"),
        ({"seed": "a"}, "`seed` must be a whole number"),
    ],
)
def test_tuning_that_cannot_be_done_is_named(given, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        Tuning(**given)


def test_a_method_that_is_not_there_or_cannot_do_the_task_is_named(classification: Problem) -> None:
    with pytest.raises(DiffmgError, match="unknown strategy 'randm'; did you mean 'random'"):
        tune(classification, "randm", BASE, Tuning(1))
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation, but got NodeClassification"):
        tune(classification, "popularity", BASE, Tuning(1))
