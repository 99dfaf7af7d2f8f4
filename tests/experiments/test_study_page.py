from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_tables import made_table

from benchmarks.documents import MARK
from diffmg.tasks.problem import Problem
from experiments import ROOT
from experiments.exhaustive_table import write_table
from experiments.jsonl import read_lines, write_lines
from experiments.study_page import PAGE, study_figures, study_files, study_tables

ALPHA = {"what": "alpha", "data": "acm", "variant": "published", "links": 3, "flips": [1, 0], "sampled": [0.5, 0.75]}


def test_every_place_of_the_page_has_a_table_and_every_table_a_place() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert sorted(name for _, name, _ in MARK.findall(text)) == sorted(study_tables(ROOT))


def test_what_was_not_run_is_said_with_its_command(tmp_path: Path) -> None:
    shown = {name: table() for name, table in study_tables(tmp_path).items() if not name.endswith("_figures")}
    assert all(text.startswith("*Not run yet: `python -m experiments ") for text in shown.values())
    assert "study shared DATA" in shown["study_shared"]
    assert study_figures(tmp_path) == {}


def test_a_page_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert study_files(tmp_path, tmp_path) == {}


def test_the_page_shows_results_and_pictures(
    tmp_path: Path, classification: Problem, experiment: Callable[..., Any]
) -> None:
    write_table(tmp_path / "made.parquet", made_table(classification))
    words = ("--searches", "chance", "genetic", "--seeds", 2, "--trainings", 10, "--out", tmp_path)
    assert experiment("regret", tmp_path / "made.parquet", *words).code == 0
    write_lines(tmp_path / "study.jsonl", [{**ALPHA, "seed": n, "top": [1.0, 1.0 + n / 5]} for n in range(2)])
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text((ROOT / PAGE).read_text(encoding="utf-8"), encoding="utf-8")
    files = study_files(tmp_path, tmp_path)
    figures = tmp_path / "docs" / "figures"
    assert set(files) == {tmp_path / PAGE, figures / "regret-made-depth2.svg", figures / "alpha-acm.svg"}
    page = files[tmp_path / PAGE]
    assert "| acm, published | 2 | 1.100 | 0.33 | 0.00 | 75 % |" in page
    assert "![regret-made-depth2](figures/regret-made-depth2.svg)" in page
    assert "| made-depth2 (score) |" in page
    assert files[figures / "alpha-acm.svg"].startswith("<svg")
    (tmp_path / PAGE).write_text(page, encoding="utf-8")
    assert study_files(tmp_path, tmp_path)[tmp_path / PAGE] == page, "made again, it stays"


def test_random_meta_graphs_stand_beside_the_variants(tmp_path: Path) -> None:
    about = {"data": "acm", "seeds": 2}
    lines = [
        {"what": "variants", **about, "variant": "published", "scores": [0.5, 0.7], "keys": ["a", "a"]},
        {"what": "trained", **about, "scores": [0.6, None]},
        {"what": "trained", "data": "dblp", "scores": [0.9]},
    ]
    write_lines(tmp_path / "study.jsonl", lines)
    rows = study_tables(tmp_path)["study_variants"]().splitlines()[-2:]
    assert rows[0] == "| acm, published | 2 | 1 | 60.00 ± 10.00 | 50.00 | 70.00 |"
    assert rows[1] == "| acm, random meta graphs | 2 | - | 60.00 ± 0.00 | 60.00 | 60.00 |"


def test_the_search_of_ones_own_runs(
    tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / PAGE).read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "experiments/results/exhaustive/acm-depth3.parquet", made_table(classification))
    exec(
        compile(block.replace("seeds=20, trainings=100", "seeds=2, trainings=5"), "page", "exec", dont_inherit=True), {}
    )
    out = capsys.readouterr().out
    assert out.startswith("**Regret on made-depth2 by number of trainings**")
    assert "\n| mine |" in out


@pytest.mark.parametrize("name", ["study.jsonl", "regret.jsonl", "proposers.jsonl"])
def test_results_that_are_there_can_be_read(name: str) -> None:
    assert isinstance(read_lines(ROOT / "experiments" / "results" / name), list)
