from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diffmg.datasets
from diffmg.cli import demo
from diffmg.core.method import Method
from diffmg.core.plan import Plan, Source
from diffmg.core.run import read_run
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.runs import sources
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from diffmg.viz.words import path_types
from run_files import diffmg as call
from run_files import read


def quick(source: Source, method: Method | None = None, **given: Any) -> Plan:
    """The plan that was asked for, with few epochs and few trainings."""
    budget = {} if method is not None else {"budget": 6}
    return make_plan(source, method, None, Settings(dim=8, max_epochs=2), **{**given, **budget})


@pytest.fixture(autouse=True)
def small(classification: Problem, recommendation: Problem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small networks, few epochs, few random draws."""
    problems = {"academic": classification, "academic:120": classification, "shop": recommendation}
    monkeypatch.setattr(diffmg.datasets, "load_dataset", problems.__getitem__)
    monkeypatch.setattr(sources, "make_plan", quick)
    monkeypatch.setattr(demo, "RANDOM_DRAWS", 3)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("name", "targets"), [("academic", ["author"]), ("shop", ["user", "item"])])
def test_a_demo_compares_the_search_with_its_rivals(name: str, targets: list[str]) -> None:
    answer = call("demo", "--data", name)
    assert answer.code == 0, answer.err
    run = read_run(Path("runs/demo"))
    assert run.status == "done"
    assert [m.target for m in run.metagraphs] == targets
    for words in ("what the meta graph adds", "random meta graph", "mean of 3 draws, from", "features only"):
        assert words in answer.out
    assert run.single is not None
    for what, score in (("the meta graph found", run.single.test[run.metric]), ("ensemble", run.mean("test"))):
        (row,) = (line for line in answer.out.splitlines() if f"│ {what}" in line)
        assert f"{score:.3f}" in row
    best = max((p for p in run.importances if p.path), key=lambda p: p.drop)
    assert path_types(best.path, best.target) in answer.out
    assert "run folder: runs/demo (open report.html there)" in answer.out
    assert Path("runs/demo/report.html").is_file()


def test_a_demo_can_be_run_again_also_on_data_of_a_given_size() -> None:
    for name in ("academic", "academic:120", "academic"):
        assert call("demo", "--out", "mine", "--data", name).code == 0
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["mine", "mine-2", "mine-3"]
    assert read(Path("mine"))["scores"] == read(Path("mine-3"))["scores"]


def test_the_seed_is_that_of_the_run() -> None:
    assert call("demo", "--seed", "5", "--device", "cpu").code == 0
    plan = read_run(Path("runs/demo")).plan
    assert (plan.seed, plan.device) == (5, "cpu")


def test_an_unknown_data_set_is_named_and_leaves_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffmg.datasets, "load_dataset", load_dataset)
    answer = call("demo", "--data", "acadmic")
    assert answer.code == 2
    assert "unknown data set 'acadmic'; did you mean 'academic'?" in answer.err
    assert not Path("runs").exists()
