from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import ROOT, reproduce
from experiments.results import Results
from experiments.runner import done_cells
from experiments.spec import read_table

Command = Callable[..., Any]
TABLE = """
title = "small"
kind = "search"
data = ["academic:120", "shop:160"]
seeds = 1
pipelines = 3
[settings]
dim = 8
max_epochs = 3
[methods.gcn]
budget = 3
[methods.mlp]
[methods.popularity]
data = ["shop:160"]
"""


@pytest.fixture
def run(tmp_path: Path, experiment: Command) -> Command:
    """Run a part of a small table."""
    (tmp_path / "small.toml").write_text(TABLE, encoding="utf-8")
    given = ("--plan", tmp_path / "small.toml", "--out", tmp_path / "out", "--device", "cpu")
    return lambda *words: experiment("reproduce", "search", *given, *words)


def test_a_part_of_a_table_is_run_and_shown(run: Command, tmp_path: Path) -> None:
    answer = run("--data", "academic:120", "--methods", "gcn", "mlp", "--seed", 2, "--seeds", 1)
    assert answer.code == 0
    table = read_table(tmp_path / "small.toml")
    cells = done_cells(table, tmp_path / "out")
    assert set(cells) == {("gcn", "academic:120"), ("mlp", "academic:120")}
    assert [cell.runs[0].plan.seed for cell in cells.values()] == [2, 2]
    assert "| gcn | 1 |" in answer.out
    assert f"gcn on academic:120: {100 * cells['gcn', 'academic:120'].mean:.2f}" in answer.err


def test_what_is_done_is_kept(run: Command, tmp_path: Path) -> None:
    words = ("--data", "shop:160", "--methods", "popularity", "--seeds", 2)
    first, before = run(*words), (tmp_path / "out" / "runs.jsonl").read_bytes()
    again = run(*words)
    assert (again.out, (tmp_path / "out" / "runs.jsonl").read_bytes()) == (first.out, before)
    assert len(again.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--methods", "mpl"], 2, "did you mean 'mlp'"),
        (["--seeds", "0"], 2, "`pipelines >= 1` must hold"),
        (["--device", "gpu"], 2, "unknown device 'gpu'"),
    ],
)
def test_bad_input_is_named(words: list[str], code: int, message: str, run: Command, tmp_path: Path) -> None:
    answer = run(*words)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert len(Results(tmp_path / "out")) == 0


def test_missing_data_have_a_code_of_their_own(experiment: Command, tmp_path: Path) -> None:
    words = ("--data", "acm", "--methods", "mlp", "--data-root", tmp_path, "--out", tmp_path)
    assert experiment("reproduce", "classification", *words, "--seeds", 99).code == 3


def test_it_needs_no_library_for_command_lines() -> None:
    """Nor those that they need themselves."""
    names = "'typer', 'rich', 'pydantic', 'polars', 'pandas'"
    code = f"import sys; sys.modules.update(dict.fromkeys(({names})))"
    code += f"; import {reproduce.__name__}, experiments.__main__ as m; m.main(['reproduce', '--help'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--methods" in done.stdout
