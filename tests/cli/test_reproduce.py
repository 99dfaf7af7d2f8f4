from __future__ import annotations

import signal
from pathlib import Path

import pytest

from diffmg.cli import common
from diffmg.cli.reproduce import PLANS
from diffmg.run import read_run
from runs import Answer, content, diffmg, read

QUICK = "settings = { all = { dim = 8, max_epochs = 3 } }"
TABLE = f"""
title = "a small table"
kind = "accuracy"
data = ["academic:120", "shop:160"]
seeds = 2
[methods.mlp]
baseline = "mlp"
{QUICK}
note = "features only"
[methods.random]
strategy = "random"
search_seeds = 2
{QUICK}
[methods.popularity]
baseline = "popularity"
{QUICK}
[paper.mlp]
"academic:120" = [91.5, 0.25]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


def reproduce(plan: Path, *arguments: object) -> Answer:
    out = plan.parent / "out"
    return diffmg("reproduce", "classification", "--plan", plan, "--out", out, "--device", "cpu", *arguments)


def folder(plan: Path, start: str) -> Path:
    """The run folder whose name starts so."""
    (found,) = (plan.parent / "out").glob(f"{start}-*")
    return found


def test_a_part_of_a_table_is_done_and_written(plan: Path) -> None:
    answer = reproduce(plan, "--data", "academic:120", "--methods", "mlp", "random", "--seeds", 1)
    out = plan.parent / "out"
    assert answer.code == 0
    names = sorted(p.name for p in out.iterdir())
    assert names[:2] == ["classification.html", "classification.md"]
    assert [name.rpartition("-")[0] for name in names[2:]] == ["mlp-academic-120", "random-academic-120"]
    test = f"{100 * read(out / names[2])['scores']['test']['macro_f1']['mean']:.2f}"
    page = (out / "classification.html").read_text(encoding="utf-8")
    for text in (answer.out, (out / "classification.md").read_text(encoding="utf-8"), page):
        assert test in text
        assert "91.50 ± 0.25" in text
        assert "academic:120, paper" in text
        assert "popularity" not in text
    assert "a small table" in answer.out
    assert "features only" in page
    assert f"written to {out / 'classification'}.md and .html\n" in answer.out
    assert "mlp on academic:120" in answer.err


def test_mean_and_deviation_are_the_run_s(plan: Path) -> None:
    answer = reproduce(plan, "--data", "shop:160", "--methods", "popularity", "mlp")
    for method in ("mlp", "popularity"):
        run = read_run(folder(plan, f"{method}-shop-160"))
        assert f"{100 * run.mean('test'):.2f} ± {100 * run.std('test'):.2f} (2)" in answer.out


def test_several_data_sets_may_follow_one_option(plan: Path) -> None:
    assert reproduce(plan, "--data", "academic:120", "shop:160", "--methods", "mlp").code == 0
    assert (folder(plan, "mlp-shop-160") / "run.json").exists()


def test_what_is_done_is_not_done_again(plan: Path) -> None:
    arguments = ("--data", "academic:120", "--methods", "mlp")
    first = reproduce(plan, *arguments)
    before = (folder(plan, "mlp-academic-120") / "run.json").stat().st_mtime_ns
    second = reproduce(plan, *arguments)
    assert second.out == first.out
    assert second.err == ""
    assert (folder(plan, "mlp-academic-120") / "run.json").stat().st_mtime_ns == before


def test_an_interrupted_table_is_taken_up(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--data", "academic:120", "--methods", "mlp", "random")
    epoch = common.ProgressWatch.epoch

    def interrupted(self, record) -> None:
        epoch(self, record)
        if record.epoch == 2 and list((plan.parent / "out").glob("random-academic-120-*")):
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(common.ProgressWatch, "epoch", interrupted)
        stopped = reproduce(plan, *arguments)
    out = plan.parent / "out"
    assert (stopped.code, stopped.out) == (130, "")
    assert "interrupted" in stopped.err
    assert read(folder(plan, "mlp-academic-120"))["status"] == "done"
    assert read(folder(plan, "random-academic-120"))["status"] == "interrupted"
    assert "| random | - | - |" in (out / "classification.md").read_text(encoding="utf-8")
    assert reproduce(plan, *arguments).code == 0
    other = diffmg("reproduce", "cost", "--plan", plan, "--out", plan.parent / "whole", "--device", "cpu", *arguments)
    assert other.code == 0
    name = folder(plan, "random-academic-120").name
    assert content(out / name) == content(plan.parent / "whole" / name)
    assert (plan.parent / "whole" / "cost.md").read_text() == (out / "classification.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "mpl"], "unknown method of this table: 'mpl'; did you mean 'mlp'?"),
        (["--data", "academic"], "unknown data set of this table: 'academic'; did you mean 'academic:120'?"),
        (["--seeds", "0"], "`seeds >= 1` must hold"),
        (["--device", "gpu", "--methods", "mlp"], "unknown device 'gpu'"),
        (["--plan", "gone.toml"], "a table needs its plan file, but got 'gone.toml', which is not there"),
        (
            ["--data", "academic:120", "--methods", "popularity"],
            "'popularity' can do Recommendation, but got NodeClassification",
        ),
    ],
)
def test_bad_input_is_named(arguments: list[str], words: str, plan: Path) -> None:
    answer = reproduce(plan, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert f"error: {words}" in answer.err
    assert not list(plan.parent.rglob("run.json"))


def test_missing_data_are_named(plan: Path) -> None:
    plan.write_text(TABLE.replace('"academic:120", "shop:160"', '"acm"'), encoding="utf-8")
    answer = reproduce(plan, "--data-root", plan.parent)
    assert answer.code == 3
    assert "must be under --data-root" in answer.err


def test_a_plan_file_is_looked_for_in_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in PLANS:
        answer = diffmg("reproduce", name, "--out", tmp_path / "out")
        assert answer.code == 2
        assert f"benchmarks/ding2021_{name}.toml" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_every_table_has_a_plan_file_and_a_line_of_help() -> None:
    listed = " ".join(diffmg("reproduce", "--help").out.split())
    for name, what in PLANS.items():
        assert (Path(__file__).parents[2] / "benchmarks" / f"ding2021_{name}.toml").is_file()
        assert what in listed
