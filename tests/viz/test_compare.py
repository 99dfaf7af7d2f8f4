from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.run import Candidate, Run, Trained
from diffmg.viz.compare import comparison, ordered, write_comparison
from reports import Page, run_of
from run_files import diffmg


def scored(score: float, task: str = "classification", **changes: object) -> Run:
    run = run_of(task, **changes)
    return replace(run, trained=(Trained(0, 1, 1, {run.metric: 0.5}, {run.metric: score}),))


def test_runs_are_in_the_order_of_their_scores() -> None:
    runs = {"a": scored(0.5), "b": scored(0.75), "c": replace(scored(0.6), trained=())}
    assert ordered(runs) == ["b", "a", "c"]
    errors = {"a": scored(0.5, "regression"), "b": scored(0.75, "regression")}
    assert ordered(errors) == ["a", "b"]


def test_a_comparison_has_scores_differences_and_pictures() -> None:
    other = scored(0.5)
    other = replace(other, plan=replace(other.plan, seed=8), candidates=(Candidate((), 0.5),))
    seen = Page(comparison({"runs/one": scored(0.75), "runs/<two>": other}))
    assert "Best on the test part: runs/one with 0.750 ± 0.098" in seen.words
    assert "0.25 ± 0.14" in seen.words
    assert "seed 7 8" in seen.words
    assert "Without a meta graph: runs/<two>" in seen.words
    assert seen.tags.count("svg") == 2  # wide and narrow
    assert "same data and the same split" in seen.words
    assert {"scores", "differs", "read", "again"} <= set(seen.values("id"))


def test_other_data_are_a_warning() -> None:
    other = scored(0.5)
    other = replace(other, data=replace(other.data, hash="ffff"))
    assert "2 different data or splits" in Page(comparison({"a": scored(0.75), "b": other})).words


def test_six_runs_fit_on_a_page() -> None:
    runs = {f"run {i}": scored(i / 10, "ranking") for i in range(6)}
    text = comparison(runs)
    assert Page(text).tags.count("svg") == 2 * 6
    assert len(text.encode()) < 200_000


def test_runs_of_different_tasks_or_one_alone_are_refused() -> None:
    with pytest.raises(DiffmgError, match="regression of author by mae: b; compare each group"):
        comparison({"a": scored(0.5), "b": scored(0.5, "regression")})
    with pytest.raises(DiffmgError, match="two or more runs, but got a"):
        comparison({"a": scored(0.5)})


def test_folders_are_compared_by_the_command(tmp_path: Path) -> None:
    for name, score in (("one", 0.5), ("two", 0.75)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(scored(score).to_dict()), encoding="utf-8")
    out = tmp_path / "both.html"
    answer = diffmg("report", tmp_path / "one", tmp_path / "two", "--out", out)
    assert answer.code == 0, answer.err
    assert str(tmp_path / "two") in Page(out.read_text(encoding="utf-8")).words
    assert write_comparison([tmp_path / "one", tmp_path / "two"], out) == out
