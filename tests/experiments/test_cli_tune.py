from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.plan import Plan
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.runs.sources import published_for
from diffmg.tuning import Tuning, chosen, read_tuned, to_toml, tune
from run_files import diffmg, read

QUICK = ("-s", "dim=8", "-s", "max_epochs=3", "--device", "cpu")
PLAN = Plan("academic:120", baseline="mlp", train=Settings(dim=8, max_epochs=3), device="cpu")


def test_trials_are_shown_best_first_with_what_was_chosen() -> None:
    answer = diffmg("tune", "mlp", "academic:120", "--budget", 4, "--seed", 2, *QUICK)
    trials = tune(load_dataset("academic:120"), PLAN, Tuning(4, seed=2))
    assert answer.code == 0
    assert re.findall(r"│ (\d\.\d{4}) ", answer.out) == [f"{t.val_score:.4f}" for t in trials]
    assert answer.out.count("as they were") == 2
    assert to_toml(chosen(trials, PLAN, Tuning(4, seed=2))) in answer.out


def test_what_was_chosen_is_written_to_a_file(tmp_path: Path) -> None:
    path, tuning = tmp_path / "best.toml", Tuning(3, "halving")
    answer = diffmg("tune", "mlp", "academic:120", "--budget", 3, "--how", "halving", "--out", path, *QUICK)
    assert answer.code == 0
    assert f"written to {path}\n" in answer.out
    assert "base_val_score" not in answer.out
    assert read_tuned(path) == chosen(tune(load_dataset("academic:120"), PLAN, tuning), PLAN, tuning)


@pytest.mark.parametrize(("method", "kind"), [("gcn", "baseline"), ("random", "strategy")])
def test_the_command_that_is_shown_trains_with_it(method: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    slow = (*QUICK, "-s", "max_epochs=25", "-s", "lr=1e-7")
    answer = diffmg("tune", method, "academic:120", "--budget", 4, "--out", path, *slow)
    (command,) = re.findall(r"^train with it: diffmg (.*)$", answer.out, re.M)
    assert diffmg(*shlex.split(command), "--device", "cpu", "--out", tmp_path / "run").code == 0
    run, best = read(tmp_path / "run"), read_tuned(path)
    assert best.settings["lr"] != 1e-7
    plan = Plan("", **{kind: method}, train=Settings(dim=8, max_epochs=25))
    wanted = best.applied(plan).to_dict()
    assert [run["plan"][n] for n in ("train", kind, "baseline_options")] == [
        wanted[n] for n in ("train", kind, "baseline_options")
    ]
    reached = run["trained"][0]["val"]["macro_f1"]
    assert reached == pytest.approx(best.val_score) or (kind == "strategy" and reached > best.val_score)


def test_only_the_best_ten_are_shown() -> None:
    answer = diffmg("tune", "mlp", "academic:120", "--budget", 12, *QUICK, "-s", "max_epochs=1")
    assert len(re.findall(r"│ (\d\.\d{4}) ", answer.out)) == 10


@pytest.mark.parametrize(("data", "method"), [("academic:120", "random"), ("shop:160", "popularity")])
def test_strategies_and_every_task_can_be_tuned(data: str, method: str) -> None:
    answer = diffmg("tune", method, data, "--budget", 2, *QUICK)
    assert answer.code == 0
    assert f"{method} on {data}" in answer.out


def test_the_seed_of_made_data_counts() -> None:
    one, other = (diffmg("tune", "mlp", "academic:120", "--budget", 1, "--data-seed", n, *QUICK).out for n in (0, 1))
    assert one != other


def test_the_default_budget_is_twenty() -> None:
    assert "[default: 20]" in diffmg("tune", "--help").out
    assert Tuning().budget == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["metapth2vec", "academic:120"], "unknown method 'metapth2vec'; did you mean 'metapath2vec'?"),
        (["randm", "academic:120"], "unknown method 'randm'; did you mean 'random'?"),
        (["mlp", "acadmic"], "unknown data set 'acadmic'; did you mean 'academic'?"),
        (["mlp", "academic:120", "--budget", "0"], "`budget >= 1` must hold"),
        (["mlp", "academic:120", "--how", "grid"], "`how` must be one of 'random', 'halving', but got how='grid'"),
        (["mlp", "academic:120", "-s", "lrr=1"], "unknown training setting 'lrr'; did you mean 'lr'?"),
        (["mlp", "academic:120", "-s", "lr"], "an option is written KEY=VALUE, but got 'lr'"),
        (["random", "academic:120", "-s", "dim=0"], "`dim >= 1` must hold"),
        (["mlp", "academic:120", "--device", "gpu"], "unknown device 'gpu'"),
        (["popularity", "academic:120"], "'popularity' can do Recommendation, but got NodeClassification"),
    ],
)
def test_bad_input_is_named(arguments: list[str], words: str, tmp_path: Path) -> None:
    answer = diffmg("tune", *arguments, "--out", tmp_path / "best.toml")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert not (tmp_path / "best.toml").exists()


def test_missing_data_are_named(tmp_path: Path) -> None:
    answer = diffmg("tune", "mlp", "acm", "--data-root", tmp_path)
    assert answer.code == 3
    assert str(tmp_path) in answer.err


@pytest.mark.parametrize("method", ["gcn", "diffmg", "darts"])
def test_baselines_start_from_plain_settings_and_strategies_from_the_authors(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(_problem, plan, _tuning, _watch):
        seen.append(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr("diffmg.runs.sources.open_problem", lambda *_, **__: load_dataset("academic:120"))
    monkeypatch.setattr("diffmg.tuning.tune", noted)
    assert diffmg("tune", method, "imdb", "-s", "dim=8").code == 130
    (plan,) = seen
    published = published_for("imdb")
    assert published is not None
    if method == "gcn":
        assert plan == Plan("imdb", baseline="gcn", train=Settings(dim=8))
        return
    assert plan.train == replace(Settings(**published.train), dim=8)
    searched = {name: value for name, value in published.search.items() if method == "diffmg" or name != "epsilon"}
    assert (plan.strategy, plan.strategy_options) == (method, searched)
