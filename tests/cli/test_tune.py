from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from diffmg.baselines import BASELINES
from diffmg.datasets import load_dataset
from diffmg.train import TrainSettings
from diffmg.tuning import Tuning, tune
from runs import diffmg

QUICK = ("-s", "dim=8", "-s", "max_epochs=3", "--device", "cpu")
SETTINGS = TrainSettings(dim=8, max_epochs=3)


def test_trials_are_shown_best_first_with_a_piece_of_a_plan_file() -> None:
    answer = diffmg("tune", "mlp", "academic:120", "--budget", 4, "--seed", 2, *QUICK)
    trials = tune(load_dataset("academic:120"), "mlp", SETTINGS, Tuning(4, seed=2))
    assert answer.code == 0
    assert re.findall(r"│ (\d\.\d{4}) ", answer.out) == [f"{t.val_score:.4f}" for t in trials]
    assert answer.out.count("as they were") == 2
    assert "# diffmg tune mlp academic:120 --budget 4 --how random --seed 2\n" in answer.out
    assert f"# validation {trials[0].val_score:.4f}; the settings it started from reached" in answer.out
    assert re.search(r"^lr = ", answer.out, re.M)


def test_a_piece_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "piece.toml"
    answer = diffmg("tune", "mlp", "academic:120", "--budget", 3, "--how", "halving", "--out", path, *QUICK)
    assert answer.code == 0
    assert f"written to {path}\n" in answer.out
    assert "# diffmg tune" not in answer.out
    assert "[methods.mlp.settings." in path.read_text()


def test_a_written_piece_is_toml(tmp_path: Path) -> None:
    path = tmp_path / "piece.toml"
    assert diffmg("tune", "mlp", "academic:120", "--budget", 1, "--out", path, *QUICK).code == 0
    assert set(tomllib.loads(path.read_text())["methods"]["mlp"]["settings"]) == {"academic:120"}


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
    answer = diffmg("tune", *arguments, "--out", tmp_path / "piece.toml")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert not (tmp_path / "piece.toml").exists()


def test_missing_data_are_named(tmp_path: Path) -> None:
    answer = diffmg("tune", "mlp", "acm", "--data-root", tmp_path)
    assert answer.code == 3
    assert str(tmp_path) in answer.err


@pytest.mark.parametrize("method", ["gcn", "diffmg"])
def test_baselines_start_from_plain_settings_and_strategies_from_the_authors(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(_problem, _method, base, _tuning):
        seen.append(base)
        raise KeyboardInterrupt

    monkeypatch.setattr("diffmg.sources.open_problem", lambda *_, **__: load_dataset("academic:120"))
    monkeypatch.setattr("diffmg.tuning.tune", noted)
    assert diffmg("tune", method, "imdb", "-s", "dim=8").code == 130
    assert (seen[0].patience, seen[0].dim) == ((10, 8) if method == "diffmg" else (TrainSettings().patience, 8))
    assert method not in dict(BASELINES.items()) or seen[0] == TrainSettings(dim=8)
