from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from diffmg.cli import common
from diffmg.core.errors import DiffmgError
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan
from diffmg.core.run import Data, Run, Trained
from diffmg.training import Epoch

SCORES = ({"auc": 0.5}, {"auc": 0.25}), ({"auc": 0.7}, {"auc": 0.35})


class EpochRunner:
    """What a watch needs to know of a job."""

    def __init__(self, epoch: int, total: int, left: float | None = None) -> None:
        self.epoch, self.total, self.left = epoch, total, left

    def seconds_left(self) -> float | None:
        return self.left

    @property
    def done(self) -> bool:
        return self.epoch >= 3


def run_with(*scores: tuple[dict[str, float], dict[str, float]]) -> Run:
    trained = tuple(Trained(i, 1, 1, val, test) for i, (val, test) in enumerate(scores))
    data = Data("recommendation", "auc", ("user", "item"), "")
    return Run("done", Plan(MethodSpec("diffmg")), data, {}, "cpu", trained=trained, kept=max(0, len(trained) - 1))


def printed(what: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=200).print(what)
    return file.getvalue()


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Where progress is shown."""
    file = io.StringIO()
    monkeypatch.setattr(common, "errors", Console(file=file, width=200))
    return file


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=1e-3", 0.001),
        ("a=true", True),
        ("a=null", None),
        ("a=tower", "tower"),
        ("a=b=c", "b=c"),
        ("a=", ""),
        ('a="1"', "1"),
    ],
)
def test_a_value_is_json_or_else_text(text: str, value: Any) -> None:
    parsed = common.parse_pairs([text])
    assert parsed == {"a": value}
    assert type(parsed["a"]) is type(value)


def test_no_pairs_are_none_and_the_last_of_a_key_counts() -> None:
    assert common.parse_pairs(None) == common.parse_pairs([]) == {}
    assert common.parse_pairs(["a=1", "b=2", "a=3"]) == {"a": 3, "b": 2}


@pytest.mark.parametrize("text", ["a", "", "=1", "a:1"])
def test_what_is_no_pair_is_named(text: str) -> None:
    with pytest.raises(DiffmgError, match=rf"an option is written KEY=VALUE, but got '{text}'"):
        common.parse_pairs([text])


def test_progress_names_phase_loss_and_score(progress: io.StringIO) -> None:
    watch = common.ProgressWatch("auc")
    watch.begin("train-0", EpochRunner(epoch=2, total=9))
    watch.epoch(Epoch(3, 0.125, 0.25, 0.75))
    watch.end()
    shown = progress.getvalue()
    assert "train-0" in shown
    assert "loss 0.1250  best validation auc 0.7500" in shown
    assert "left" not in shown


@pytest.mark.parametrize(("sign", "best"), [(1, "0.7500"), (-1, "0.2500")])
def test_progress_of_a_race_names_the_best_so_far_and_the_time_left(
    sign: int, best: str, progress: io.StringIO
) -> None:
    watch = common.ProgressWatch("auc", sign)
    watch.begin("race", EpochRunner(epoch=0, total=9, left=41.6))
    for number, score in enumerate((float("nan"), 0.5, 0.75, 0.25), 1):
        watch.epoch(Epoch(number, float("nan"), float("nan"), score))
    watch.end()
    shown = progress.getvalue().splitlines()[-1]
    assert f"best validation auc {best}  about 42 s left" in shown
    assert "loss" not in shown


@pytest.mark.parametrize(("epoch", "bar"), [(3, "3/3"), (2, "2/9")])
def test_a_job_that_stopped_early_shows_a_full_bar_and_an_interrupted_one_does_not(
    epoch: int, bar: str, progress: io.StringIO
) -> None:
    watch = common.ProgressWatch("auc")
    watch.begin("train-0", EpochRunner(epoch, total=9))
    watch.end()
    assert bar in progress.getvalue()


def test_a_job_without_epochs_has_a_bar(progress: io.StringIO) -> None:
    job = EpochRunner(0, total=0)
    watch = common.ProgressWatch("auc")
    watch.begin("search-0", job)
    job.epoch = 3
    watch.end()
    assert "search-0" in progress.getvalue()


def test_the_scores_of_one_training_stand_alone() -> None:
    shown = printed(common.score_table(run_with(SCORES[0])))
    assert "kept model" in shown
    assert re.search(r"auc\W+0\.5000\W+0\.2500\W+$", shown, re.MULTILINE)
    assert "±" not in shown


def test_of_several_trainings_the_kept_one_and_the_mean_are_shown() -> None:
    shown = printed(common.score_table(run_with(*SCORES)))
    assert "mean ± std of 2 trainings" in shown
    assert re.search(r"auc\W+0\.7000\W+0\.3500\W+0\.3000 ± 0\.0707", shown)


def test_scores_that_are_not_there_are_a_dash() -> None:
    assert " - " in printed(common.score_table(run_with(({"auc": 0.5}, {}))))
    assert "auc" not in printed(common.score_table(run_with()))
