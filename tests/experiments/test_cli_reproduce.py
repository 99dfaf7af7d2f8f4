from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from diffmg.cli import common
from diffmg.cli.reproduce import PLANS
from diffmg.core.run import read_run
from diffmg.tuning import read_tuned
from run_files import Answer, content, diffmg, read

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
        assert f"{100 * run.mean('test'):.2f} ± {100 * run.std('test'):.2f} " in answer.out


def test_several_data_sets_may_follow_one_option(plan: Path) -> None:
    assert reproduce(plan, "--data", "academic:120", "shop:160", "--methods", "mlp").code == 0
    assert (folder(plan, "mlp-shop-160") / "run.json").exists()


def test_what_is_done_is_not_done_again(plan: Path) -> None:
    arguments = ("--data", "academic:120", "--methods", "mlp")
    first = reproduce(plan, *arguments)
    before = (folder(plan, "mlp-academic-120") / "run.json").stat().st_mtime_ns
    second = reproduce(plan, *arguments)
    assert second.out == first.out
    assert re.fullmatch(r"mlp on academic:120: \d+\.\d\d\n", second.err)
    assert (folder(plan, "mlp-academic-120") / "run.json").stat().st_mtime_ns == before


def test_settings_are_chosen_first_and_once(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan.write_text(TABLE.replace("seeds = 2", 'seeds = 1\nbudget = 3\ntuned = "best"', 1), encoding="utf-8")
    arguments = ("--data", "academic:120", "--methods", "mlp")
    answer = reproduce(plan, *arguments)
    assert answer.code == 0
    assert answer.err.index("settings of mlp on academic:120") < answer.err.index("mlp on academic:120: ")
    best = read_tuned(plan.parent / "best" / "mlp-academic-120.toml")
    train = read(folder(plan, "mlp-academic-120"))["plan"]["train"]
    assert best.budget == 3
    assert {name: train[name] for name in best.settings} == best.settings
    monkeypatch.setattr("diffmg.reproduction.carrying.tune", None)
    assert reproduce(plan, *arguments).out == answer.out


def test_several_runs_at_a_time_and_one_that_fails(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    arguments = ("--data", "academic:120", "--seeds", 1, "--methods", "mlp", "random")
    assert reproduce(plan, *arguments).code == 0
    out = plan.parent / "out"
    shown = (out / "classification.md").read_text(encoding="utf-8")
    taken, done = folder(plan, "mlp-academic-120"), folder(plan, "random-academic-120")
    out.rename(plan.parent / "before")
    out.mkdir()
    (out / taken.name).write_text("in the way")
    answer = reproduce(plan, *arguments, "--jobs", 2)
    assert (answer.code, answer.out) == (2, "")
    assert (
        "error: what does not need them is done and kept, but 1 failed: mlp on academic:120: a run needs" in answer.err
    )
    assert content(done) == content(plan.parent / "before" / done.name)
    written = (out / "classification.md").read_text(encoding="utf-8")
    assert "| mlp | - | - |" in written
    (row,) = (line for line in shown.splitlines() if line.startswith("| random | 1 |"))
    assert row in written


def test_the_table_is_put_into_a_document(plan: Path) -> None:
    document = plan.parent / "README.md"
    text = "before\n<!-- table: classification -->\nold\n<!-- end -->\nbetween\n<!-- table: cost -->\n<!-- end -->\n"
    document.write_text(text, encoding="utf-8")
    answer = reproduce(plan, "--data", "academic:120", "--methods", "mlp", "--into", document)
    assert answer.code == 0
    assert f"put into {document}\n" in answer.out
    table = (plan.parent / "out" / "classification.md").read_text(encoding="utf-8")
    assert document.read_text(encoding="utf-8") == text.replace("old", table.strip())


def test_pictures_are_put_beside_the_document(plan: Path) -> None:
    plan.write_text(TABLE.replace('"accuracy"', '"architectures"'), encoding="utf-8")
    document = plan.parent / "docs" / "page.md"
    document.parent.mkdir()
    document.write_text("<!-- table: classification -->\n<!-- end -->\n", encoding="utf-8")
    answer = reproduce(plan, "--data", "academic:120", "--methods", "mlp", "random", "--into", document)
    assert answer.code == 0
    (picture,) = (document.parent / "figures").iterdir()
    assert picture.name == "random-academic-120.svg"
    assert picture.read_bytes() == (plan.parent / "out" / picture.name).read_bytes()
    assert f"written to {picture}\n" in answer.out


def test_a_document_that_changes_meanwhile_keeps_the_change(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = plan.parent / "README.md"
    text = "<!-- table: classification -->\n<!-- end -->\n"
    document.write_text(text, encoding="utf-8")
    begin = common.ProgressWatch.begin

    def changing(self, *given) -> None:
        document.write_text("a new line\n" + text, encoding="utf-8")
        begin(self, *given)

    monkeypatch.setattr(common.ProgressWatch, "begin", changing)
    assert reproduce(plan, "--data", "academic:120", "--methods", "mlp", "--into", document).code == 0
    written = document.read_text(encoding="utf-8")
    assert written.startswith("a new line\n<!-- table: classification -->\n**a small table**\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "which has none"),
        ("<!-- table: classification -->\nno end\n", "which has none"),
        ("<!-- table: cost -->\n<!-- end -->\n", "which has ['cost']"),
    ],
)
def test_a_document_without_a_place_is_named_before_anything_is_run(text: str | None, words: str, plan: Path) -> None:
    document = plan.parent / "README.md"
    if text is not None:
        document.write_text(text, encoding="utf-8")
    answer = reproduce(plan, "--into", document)
    assert (answer.code, answer.out) == (2, "")
    assert "error: a document has a place for the table, `<!-- table: classification -->`" in answer.err
    assert f"but got {str(document)!r}, {words}\n" in answer.err
    assert not (plan.parent / "out").exists()
    assert document.exists() == (text is not None)


def test_a_cost_shows_seconds_and_the_order(plan: Path) -> None:
    text = TABLE.replace('kind = "accuracy"', 'kind = "cost"').partition("[paper")[0]
    text = text.replace(
        'strategy = "random"', 'strategy = "genetic"\nscale = 50.0\nstrategy_options = { generations = 1 }'
    )
    text += '[methods.search]\nstrategy = "random_search"\nstrategy_options = { trials = 1 }\n' + QUICK
    text += '\n[paper.random]\n"academic:120" = [8.0, 6.5]\n[paper.search]\n"academic:120" = [0.5]\n'
    plan.write_text(text, encoding="utf-8")
    answer = reproduce(plan, "--data", "academic:120", "--methods", "mlp", "random", "search", "--seeds", 1)
    assert answer.code == 0
    assert re.search(r"│ mlp .*\d\.\d\d s training", answer.out)
    assert re.search(r"│ random .*≈ \d+\.\d\d s .*│ 8 \(6\.5\) min", answer.out)
    assert "- order on academic:120: search < random, as in the paper\n" in answer.out
    assert "- order on academic:120: search < random" in (plan.parent / "out" / "classification.md").read_text()


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


def test_there_is_a_job_at_least(plan: Path) -> None:
    answer = reproduce(plan, "--jobs", 0)
    assert (answer.code, answer.out) == (2, "")
    assert "Invalid value for '--jobs'" in answer.err


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
