from __future__ import annotations

import math
import tomllib
import weakref
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from diffmg import tuning as module
from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from diffmg.core.settings import Settings
from diffmg.core.seeds import derive_seed
from diffmg.methods.baselines import BASELINES, make_baseline
from diffmg.runs.runner import Experiment
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Job, ModelTraining, Quiet
from diffmg.tuning import (
    DECAYS,
    DROPOUTS,
    RATES,
    How,
    Trial,
    Tuned,
    Tuning,
    chosen,
    read_tuned,
    to_toml,
    tune,
    write_tuned,
)

BASE = Settings(dim=8, max_epochs=8, patience=None)
MLP = Plan("", baseline="mlp", train=BASE, device="cpu")
RANDOM = Plan("", strategy="random", search_seeds=1, train=BASE, device="cpu")
SLOW = replace(MLP, baseline="gcn", train=replace(BASE, lr=1e-7))
"""Learns so little that what is drawn is better."""
ONE_EPOCH = replace(BASE, max_epochs=1)
DRAWN = [
    ({}, {}),
    ({"lr": 0.01, "weight_decay": 0.005, "dropout": 0.5}, {"layers": 2}),
    ({"lr": 0.001, "weight_decay": 0.005, "dropout": 0.5}, {"layers": 3}),
    ({"lr": 0.02, "weight_decay": 0.005, "dropout": 0.4}, {"layers": 2}),
]
"""What seed 1 draws for the perceptron; files of chosen settings rest on it."""


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


class Sealed(NodeClassification):
    """A task whose test labels must not be read."""

    def loss(self, outputs: tuple[Tensor, ...], part: Any) -> Tensor:
        assert part != "test"
        return super().loss(outputs, part)

    def scores(self, outputs: tuple[Tensor, ...], part: Any) -> dict[str, Tensor]:
        assert part != "test"
        return super().scores(outputs, part)


@pytest.mark.parametrize("how", ["random", "halving"])
@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_budget_is_the_number_of_trials_and_the_best_comes_first(problem: Problem, how, budget: int) -> None:
    trials = tune(problem, MLP, Tuning(budget, how))
    assert len(trials) == budget
    assert [t.val_score for t in trials] == sorted((t.val_score for t in trials), reverse=True)
    assert base_of(trials).options == {}


def test_the_base_is_trained_as_a_run_would_train_it(classification: Problem) -> None:
    run = Experiment(replace(MLP, seed=3), classification).execute().run
    base = base_of(tune(classification, MLP, Tuning(2, seed=3)))
    assert base.val_score == pytest.approx(run.mean("val"))
    assert base.epochs == 8


def test_a_strategy_is_searched_once_and_its_meta_graphs_are_kept(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Counter[str]()
    make = module.make_strategy

    def counted(name: str, options):
        searches[name] += 1
        return make(name, options)

    monkeypatch.setattr(module, "make_strategy", counted)
    trials = tune(classification, RANDOM, Tuning(3, seed=2))
    assert searches == {"random": 1}
    assert all(trial.options == {} for trial in trials)
    run = Experiment(replace(RANDOM, seed=2), classification).execute().run
    assert base_of(trials).val_score == pytest.approx(run.mean("val"))


@pytest.mark.parametrize("seed", range(4))
def test_of_several_searches_the_best_by_validation_is_tuned(classification: Problem, seed: int) -> None:
    plan = replace(RANDOM, search_seeds=3, seed=seed)
    run = Experiment(plan, classification).execute().run
    scores = [candidate.val_score for candidate in run.candidates]
    assert len(set(scores)) > 1
    base = base_of(tune(classification, plan, Tuning(2, seed=seed)))
    assert base.val_score == pytest.approx(max(scores)) == pytest.approx(run.mean("val"))


@pytest.mark.parametrize("how", ["random", "halving"])
def test_settings_are_compared_by_what_chooses_the_epoch(classification: Problem, how) -> None:
    plan = replace(MLP, train=replace(BASE, select="loss"))
    trials = tune(classification, plan, Tuning(8, how, seed=1))
    losses = [-trial.value for trial in trials]
    assert losses == sorted(losses)
    assert [t.val_score for t in trials] != sorted((t.val_score for t in trials), reverse=True)
    best = chosen(trials, plan, Tuning(8, how, seed=1))
    assert (best.select, best.value, best.val_score) == ("loss", -losses[0], trials[0].val_score)
    run = Experiment(best.applied(replace(plan, seed=1)), classification).execute().run
    assert run.trained[0].val["macro_f1"] == pytest.approx(best.val_score)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_the_best_quarter_is_trained_again_and_its_mean_decides(classification: Problem, how) -> None:
    once, tuning = tune(classification, MLP, Tuning(12, how, 1)), Tuning(12, how, 1, trainings=3)
    trials = tune(classification, MLP, tuning)
    finals, rest = trials[:3], trials[3:]
    assert rest == once[3:]
    assert {(t.trainings, t.epochs) for t in finals} == {(3, 24)}
    assert [t.value for t in finals] == sorted((t.value for t in finals), reverse=True)
    best = chosen(trials, MLP, tuning)
    assert (best.trainings, best.value) == (3, finals[0].value)
    run = Experiment(best.applied(replace(MLP, seed=1, repeats=3)), classification).execute().run
    assert run.mean("val") == pytest.approx(finals[0].val_score)


@pytest.mark.parametrize(("budget", "finals"), [(1, 1), (2, 2), (8, 2), (12, 3), (33, 8)])
def test_a_quarter_is_trained_again_but_never_one_alone(budget: int, finals: int) -> None:
    assert Tuning(budget).finals == finals


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


def test_tuning_follows_from_its_seed(classification: Problem) -> None:
    one, same, other = (tune(classification, MLP, Tuning(5, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert {str(t.settings) for t in one} != {str(t.settings) for t in other}


def test_a_larger_budget_goes_on_from_a_smaller_one(classification: Problem) -> None:
    few, many = (tune(classification, MLP, Tuning(budget)) for budget in (3, 5))
    assert all(trial in many for trial in few)


def test_scores_are_those_of_trainings_with_these_settings(classification: Problem) -> None:
    for trial in tune(classification, MLP, Tuning(4, seed=5)):
        assert trained(classification, trial, 5, 8).best_score == trial.val_score


def test_halving_trains_less_and_keeps_the_best_so_far(classification: Problem) -> None:
    budget, seed = 8, 1
    halved = tune(classification, MLP, Tuning(budget, "halving", seed))
    random = tune(classification, MLP, Tuning(budget, "random", seed))
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
    assert all(t.epochs < 60 for t in tune(classification, replace(MLP, train=base), Tuning(2)))


def test_options_come_from_what_is_tunable(classification: Problem) -> None:
    trials = tune(classification, replace(MLP, train=ONE_EPOCH), Tuning(30))
    drawn = [t for t in trials if t.settings]
    assert {t.options["layers"] for t in drawn} == {1, 2, 3}
    assert all(set(t.options) == {"layers"} for t in drawn)
    assert all(set(t.settings) == {"lr", "weight_decay", "dropout"} for t in drawn)
    for name, values in (("lr", RATES), ("weight_decay", DECAYS), ("dropout", DROPOUTS)):
        assert {t.settings[name] for t in drawn} <= set(values)


def test_a_method_without_tunable_options_has_none(recommendation: Problem) -> None:
    assert BASELINES.get("popularity").tunable == {}
    plan = replace(MLP, baseline="popularity", train=ONE_EPOCH)
    assert all(t.options == {} for t in tune(recommendation, plan, Tuning(3)))


def test_what_is_drawn_stays_what_it_was(classification: Problem) -> None:
    plan = replace(MLP, train=ONE_EPOCH)
    for how in ("random", "halving"):
        trials = tune(classification, plan, Tuning(4, how, 1))
        assert sorted([(t.settings, t.options) for t in trials], key=str) == sorted(DRAWN, key=str)


def test_every_method_tries_as_many_settings_from_draws_of_its_own(classification: Problem) -> None:
    plans = [replace(plan, train=ONE_EPOCH) for plan in (MLP, replace(MLP, baseline="gcn"), RANDOM)]
    found = [tune(classification, plan, Tuning(5)) for plan in plans]
    assert [len(trials) for trials in found] == [5, 5, 5]
    assert len({str(sorted(str(t.settings) for t in trials)) for trials in found}) == 3


def test_test_labels_are_never_read(classification: Problem) -> None:
    task = classification.task
    assert isinstance(task, NodeClassification)
    sealed = Problem(classification.graph, Sealed(task.target, task.labels, task.parts, task.classes))
    for plan in (MLP, RANDOM):
        for how in ("random", "halving"):
            assert tune(sealed, plan, Tuning(3, how)) == tune(classification, plan, Tuning(3, how))
    with pytest.raises(AssertionError):
        Experiment(MLP, sealed).execute()


def test_meta_graphs_that_a_plan_has_are_not_searched(classification: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = tune(classification, RANDOM, Tuning(2))
    found = module._searched(classification, RANDOM, 0, Quiet())
    monkeypatch.setattr(module, "make_strategy", None)
    assert tune(classification, replace(RANDOM, metagraphs=found), Tuning(2)) == trials


def test_a_search_has_the_options_and_the_depth_of_its_plan(classification: Problem) -> None:
    plan = replace(RANDOM, depth=2, train=ONE_EPOCH)
    (metagraph,) = module._searched(classification, plan, 0, Quiet())
    assert metagraph.depth == 2
    with pytest.raises(DiffmgError, match="unknown option of strategy 'random': 'trails'"):
        tune(classification, replace(plan, strategy_options={"trails": 1}), Tuning(1))


@pytest.mark.parametrize("how", ["random", "halving"])
def test_a_watch_is_told_of_every_training(how: How, classification: Problem) -> None:
    told: list[tuple[str, int]] = []

    class Noting(Quiet):
        def begin(self, phase: str, job: Job) -> None:
            told.append((phase, 0))

        def epoch(self, record: Epoch) -> None:
            told[-1] = told[-1][0], told[-1][1] + 1

    plan, tuning = replace(RANDOM, search_seeds=2), Tuning(4, how, trainings=2)
    trials = tune(classification, plan, tuning, Noting())
    assert trials == tune(classification, plan, tuning)
    phases = [phase for phase, _ in told]
    assert phases[:4] == ["search-0", "train-0", "search-1", "train-1"]
    assert phases[-2:] == ["again 1", "again 2"]
    assert set(phases[4:-2]) == {"setting 1", "setting 2", "setting 3", "setting 4"}
    assert sum(epochs for _, epochs in told[4:]) == sum(trial.epochs for trial in trials)


def test_a_plan_s_own_options_stay_beneath_what_is_tried(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = module.make_baseline

    def noted(name: str, options):
        made.append(dict(options))
        return make(name, options)

    monkeypatch.setattr(module, "make_baseline", noted)
    plan = replace(MLP, baseline="gtn", baseline_options={"channels": 1, "hops": 1}, train=ONE_EPOCH)
    assert {"hops"} < set(BASELINES.get("gtn").tunable)
    trials = tune(classification, plan, Tuning(5))
    assert made == [{"channels": 1, "hops": 1}, *({"channels": 1, **options} for _, options in drawn_by("gtn", 4))]
    assert all("channels" not in trial.options for trial in trials)


def drawn_by(baseline: str, count: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The first settings that seed 0 draws for a baseline."""
    draw = module.random.Random(derive_seed(0, "tuning", baseline))
    return [module._drawn(draw, BASELINES.get(baseline).tunable) for _ in range(count)]


@pytest.mark.parametrize(("how", "most"), [("random", 1), ("halving", 4)])
def test_random_tuning_keeps_one_training_in_memory(
    how: str, most: int, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: weakref.WeakSet[ModelTraining] = weakref.WeakSet()
    counts = []

    class Counted(ModelTraining):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            alive.add(self)
            counts.append(len(alive))

    monkeypatch.setattr(module, "ModelTraining", Counted)
    tune(classification, MLP, Tuning(4, how, trainings=3))  # type: ignore[arg-type]
    assert (len(counts), max(counts)) == (4 + 2 * 2, most)


@pytest.mark.parametrize("how", ["random", "halving"])
def test_a_training_without_a_score_comes_last_and_is_never_chosen(classification: Problem, how) -> None:
    """The base diverges at once; what is drawn does not."""
    plan = replace(MLP, train=replace(BASE, lr=1e30))
    trials = tune(classification, plan, Tuning(3, how))
    assert (trials[-1].settings, trials[-1].val_score) == ({}, -math.inf)
    assert trials[0].val_score > 0
    assert chosen(trials, plan, Tuning(3, how)).base_val_score == -math.inf


@pytest.mark.parametrize("name", [name for name, _ in BASELINES.items()])
def test_every_value_that_may_be_tried_can_be_made_and_written(name: str) -> None:
    for option, values in BASELINES.get(name).tunable.items():
        for value in values:
            make_baseline(name, {option: value})
            found = tomllib.loads(to_toml(Tuned(1, "random", 0, 1, "score", 0.5, 0.5, 0.5, {}, {option: value})))
            assert found["baseline_options"] == {option: value}


def test_what_was_chosen_is_the_best_trial_in_full(classification: Problem) -> None:
    tuning = Tuning(6, "halving", 4)
    trials = tune(classification, SLOW, tuning)
    best = chosen(trials, SLOW, tuning)
    assert (best.budget, best.how, best.seed) == (6, "halving", 4)
    assert (best.val_score, best.base_val_score) == (trials[0].val_score, base_of(trials).val_score)
    assert best.val_score > best.base_val_score
    assert (best.settings, best.baseline_options) == (trials[0].settings, trials[0].options)


def test_where_the_base_is_best_it_is_written_out() -> None:
    plan = replace(MLP, train=replace(BASE, lr=0.125))
    best = chosen([Trial({}, {}, 0.5, 0.5, 8), Trial({"lr": 0.02}, {"layers": 2}, 0.25, 0.25, 8)], plan, Tuning(2))
    assert best.settings == {"lr": 0.125, "weight_decay": BASE.weight_decay, "dropout": BASE.dropout}
    assert (best.baseline_options, best.val_score, best.base_val_score) == ({}, 0.5, 0.5)


def test_the_plan_with_what_was_chosen_is_trained_as_the_trial_was(classification: Problem) -> None:
    trials = tune(classification, SLOW, Tuning(4, seed=1))
    plan = chosen(trials, SLOW, Tuning(4, seed=1)).applied(replace(SLOW, seed=1))
    assert plan.train == replace(SLOW.train, **trials[0].settings) != SLOW.train
    assert Experiment(plan, classification).execute().run.mean("val") == pytest.approx(trials[0].val_score)


def test_what_was_chosen_changes_a_plan_and_leaves_the_rest() -> None:
    best = Tuned(2, "random", 0, 1, "score", 0.5, 0.5, 0.5, {"lr": 0.5}, {"layers": 3})
    plan = replace(MLP, baseline="gat", baseline_options={"heads": 3, "layers": 1}, seed=7, repeats=4)
    wanted = replace(plan, train=replace(BASE, lr=0.5), baseline_options={"heads": 3, "layers": 3})
    assert best.applied(plan) == wanted
    assert plan.baseline_options == {"heads": 3, "layers": 1}


@pytest.mark.parametrize("score", [0.75, 1e-05, 1.0, -math.inf, math.inf])
def test_files_hold_what_was_chosen(score: float, tmp_path: Path) -> None:
    options = {"layers": 3, "share": False, "kind": 'a "b" \\ é 😀', "dims": [8, 16], "names": ["a"], "rate": 1e-07}
    best = Tuned(7, "halving", 9, 1, "score", score, score, -math.inf, {"lr": 1e-05, "dropout": 0.0}, options)
    write_tuned(tmp_path / "best.toml", best)
    assert read_tuned(tmp_path / "best.toml") == best


def test_a_score_that_is_no_number_can_be_kept(tmp_path: Path) -> None:
    write_tuned(tmp_path / "best.toml", Tuned(1, "random", 0, 1, "loss", math.nan, math.nan, math.nan))
    found = read_tuned(tmp_path / "best.toml")
    assert math.isnan(found.val_score)
    assert math.isnan(found.base_val_score)


def test_a_file_says_how_it_was_chosen() -> None:
    text = to_toml(Tuned(7, "halving", 9, 2, "loss", -0.5, 0.75, 0.5, {"lr": 0.02}, {"layers": 3}))
    assert text == (
        'budget = 7\nhow = "halving"\nseed = 9\ntrainings = 2\nselect = "loss"\n'
        "value = -0.5\nval_score = 0.75\nbase_val_score = 0.5\n"
        "\n[settings]\nlr = 0.02\n\n[baseline_options]\nlayers = 3\n"
    )
    assert "baseline_options" not in to_toml(Tuned(1, "random", 0, 1, "score", 0.5, 0.5, 0.5, {"lr": 0.02}))


GOOD = to_toml(Tuned(2, "random", 0, 1, "score", 0.75, 0.75, 0.5, {"lr": 0.02}, {"layers": 3}))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("budget = 2", "budget 2", "tuned settings must be a TOML file, but got .*best.toml.*Expected '='"),
        ("budget = 2", "bugdet = 2", "unknown field of tuned settings in .*best.toml.*'bugdet'; did you mean 'budget'"),
        ("budget = 2\n", "", "must be what `diffmg tune` wrote, but got .*best.toml.*missing.*'budget'"),
        ("budget = 2", "budget = 'two'", "but got .*best.toml.*`budget` must be a whole number"),
        ("val_score = 0.75", "val_score = '?'", "but got .*best.toml.*`val_score` must be a number"),
        ("lr = 0.02", "lrr = 0.02", "but got .*best.toml.*unknown training setting 'lrr'; did you mean 'lr'"),
        ("lr = 0.02", "lr = 'fast'", "but got .*best.toml.*`lr` must be a number"),
        ("[settings]\nlr = 0.02\n", "settings = 3", "but got .*best.toml.*not iterable"),
        ("[settings]\nlr = 0.02\n", "settings = 'lr'", "but got .*best.toml.*dictionary update"),
    ],
)
def test_a_file_that_is_not_what_was_written_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != GOOD
    with pytest.raises(DiffmgError, match=words):
        read_tuned(path)


def test_options_that_are_no_table_are_named(tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    path.write_text(f"baseline_options = 3\n{GOOD.partition('[baseline')[0]}", encoding="utf-8")
    with pytest.raises(DiffmgError, match="must be what `diffmg tune` wrote"):
        read_tuned(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'how = "\xff"')
    for path in (tmp_path / "gone.toml", tmp_path, tmp_path / "latin.toml"):
        with pytest.raises(DiffmgError, match="tuned settings must be a TOML file, but got"):
            read_tuned(path)


def test_halving_trains_the_base_to_the_end_however_bad(classification: Problem) -> None:
    trials = tune(classification, SLOW, Tuning(6, "halving", 4))
    assert base_of(trials).epochs == 8
    assert base_of(trials).val_score < sorted(t.val_score for t in trials)[-2]


def test_halving_never_ends_below_the_base(classification: Problem) -> None:
    base = Settings(dim=8, max_epochs=20, patience=None)
    for seed in range(4):
        trials = tune(classification, replace(MLP, train=base), Tuning(4, "halving", seed))
        (started,) = (t for t in trials if not t.settings)
        assert started.epochs == 20
        assert trials[0].val_score >= started.val_score


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": 0}, "`budget >= 1` must hold"),
        ({"trainings": 0}, "`trainings >= 1` must hold"),
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
        tune(classification, replace(RANDOM, strategy="randm"), Tuning(1))
    with pytest.raises(DiffmgError, match="unknown baseline 'mpl'; did you mean 'mlp'"):
        tune(classification, replace(MLP, baseline="mpl"), Tuning(1))
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation, but got NodeClassification"):
        tune(classification, replace(MLP, baseline="popularity"), Tuning(1))
