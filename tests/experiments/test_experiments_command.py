from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diffmg.cli import common
from experiments import TABLES, check, comparing, documents, memory, seeds
from experiments.bootstrap import Difference
from experiments.comparing import Place
from experiments.results import Results
from experiments.runner import done_cells
from experiments.spec import read_table
from experiments.tables import markdown, percent

Command = Callable[..., Any]
TABLE = """
title = "a small table"
kind = "accuracy"
data = ["academic:120", "shop:160"]
seeds = 2
[settings]
dim = 8
max_epochs = 3
[methods.mlp]
note = "features only"
[methods.random]
options = { search_seeds = 2 }
[methods.popularity]
[paper.mlp]
"academic:120" = [91.5, 0.25]
"""
PLACE = "before\n<!-- table: classification -->\nold\n<!-- end -->\nafter\n"
SMALL = ("--data", "academic:120", "--methods", "mlp", "random", "--seeds", 1)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture
def run(plan: Path, experiment: Command) -> Command:
    """Run the small table."""
    given = ("--plan", plan, "--out", plan.parent / "out", "--device", "cpu")
    return lambda *arguments: experiment("classification", *given, *arguments)


def test_a_part_of_a_table_is_run_and_shown(run: Command, plan: Path) -> None:
    answer = run(*SMALL)
    assert answer.code == 0
    part = read_table(plan).part(["academic:120"], ["mlp", "random"], 1)
    assert answer.out == markdown(part, done_cells(part, plan.parent / "out")) + "\n"
    assert "91.50 ± 0.25" in answer.out
    assert "mlp on academic:120" in answer.err
    assert [path.name for path in (plan.parent / "out").iterdir() if path.is_file()] == ["runs.jsonl"]


def test_several_data_sets_may_follow_one_option_and_what_is_done_is_kept(run: Command, plan: Path) -> None:
    arguments = ("--data", "academic:120", "shop:160", "--methods", "mlp")
    first = run(*arguments)
    before = (plan.parent / "out" / "runs.jsonl").stat().st_mtime_ns
    second = run(*arguments)
    assert (second.code, second.out) == (0, first.out)
    assert re.fullmatch(r"mlp on academic:120: \d+\.\d\d\nmlp on shop:160: \d+\.\d\d\n", second.err)
    assert (plan.parent / "out" / "runs.jsonl").stat().st_mtime_ns == before
    for cell in done_cells(read_table(plan).part([], ["mlp"], None), plan.parent / "out").values():
        assert percent(cell) in first.out


def test_the_table_is_put_into_a_document_and_pictures_beside_it(run: Command, plan: Path) -> None:
    plan.write_text(TABLE.replace('"accuracy"', '"architectures"'), encoding="utf-8")
    page = plan.parent / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(PLACE, encoding="utf-8")
    answer = run(*SMALL, "--into", page)
    assert answer.code == 0
    assert page.read_text(encoding="utf-8") == PLACE.replace("old", answer.out.strip())
    assert [path.name for path in (page.parent / "figures").iterdir()] == ["random-academic-120.svg"]
    run(*SMALL)
    assert [path.name for path in (plan.parent / "out" / "figures").iterdir()] == ["random-academic-120.svg"]


def test_a_document_that_changes_meanwhile_keeps_the_change(
    run: Command, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, begin = plan.parent / "page.md", common.ProgressWatch.begin
    page.write_text(PLACE, encoding="utf-8")

    def changing(self: Any, *given: Any) -> None:
        page.write_text("a new line\n" + PLACE, encoding="utf-8")
        begin(self, *given)

    monkeypatch.setattr(common.ProgressWatch, "begin", changing)
    answer = run("--data", "academic:120", "--methods", "mlp", "--into", page)
    assert page.read_text(encoding="utf-8") == "a new line\n" + PLACE.replace("old", answer.out.strip())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "mpl"], "did you mean 'mlp'?"),
        (["--data", "academic"], "did you mean 'academic:120'?"),
        (["--seeds", "0"], "`seeds >= 1` must hold"),
        (["--device", "gpu", "--methods", "mlp"], "unknown device 'gpu'"),
        (["--plan", "gone.toml"], "'gone.toml'"),
        (["--into", "gone.md"], "'gone.md', which has none"),
        (["--data", "academic:120", "--methods", "popularity"], "'popularity' serves"),
    ],
)
def test_bad_input_is_named(arguments: list[str], words: str, run: Command, plan: Path) -> None:
    answer = run(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1].startswith("error: ")
    assert words in answer.err
    assert len(Results(plan.parent / "out")) == 0


def test_missing_data_are_named(run: Command, plan: Path) -> None:
    plan.write_text(TABLE.replace('"academic:120", "shop:160"', '"acm"'), encoding="utf-8")
    assert run("--data-root", plan.parent).code == 3


def test_every_table_is_listed(experiment: Command) -> None:
    listed = " ".join(experiment("--help").out.split())
    assert all(what in listed for what in TABLES.values())


def test_results_of_another_folder_are_merged(run: Command, plan: Path, experiment: Command) -> None:
    run("--data", "academic:120", "--methods", "mlp")
    there, here = plan.parent / "out", plan.parent / "here"
    assert experiment("merge", there, "--out", here).out.splitlines()[-1].startswith("1 runs added")
    assert list(Results(here)) == list(Results(there))
    answer = experiment("merge", plan.parent / "gone", "--out", here)
    assert (answer.code, "must have a runs.jsonl" in answer.err) == (2, True)


def test_differences_are_told(experiment: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []

    def made(table: Any, *more: Any) -> dict[Place, Difference]:
        given.extend((table.data, *more))
        return {Place("gcn", "acm", "used"): Difference(0.015, -0.0025, 0.03)}

    monkeypatch.setattr(comparing, "compare", made)
    answer = experiment("compare", "search", "--data", "acm", "imdb", "--out", tmp_path)
    assert answer.out == "auto minus gcn on acm, used model: +1.50 [-0.25, +3.00]\n"
    assert given == [("acm", "imdb"), tmp_path, None]
    assert "did you mean 'search'" in experiment("compare", "serch").err


@pytest.mark.parametrize(("found", "code"), [([], 0), (["a page is old", "a claim is wrong"], 1)])
def test_a_check_lists_what_does_not_hold(
    found: list[str], code: int, experiment: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "problems", lambda: iter(found))
    monkeypatch.setattr(check, "not_run_yet", lambda: iter(["a row"]))
    answer = experiment("check")
    assert answer.code == code
    assert answer.out.splitlines()[:-1] == found
    assert answer.err == "1 cells lack runs, such as a row\n"


def test_pages_are_brought_up_to_date(experiment: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiments.commands.ROOT", tmp_path)
    monkeypatch.setattr(documents, "done_tables", dict)
    monkeypatch.setattr(documents, "wanted", lambda root, _done: {root / "page.md": "new"})
    assert experiment("render").out == "written to page.md\n"
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == "new"
    assert experiment("render").out == ""


def test_many_seeds_and_memory_are_commands(
    experiment: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(seeds, "train_seeds", lambda *words: given.append(words))
    monkeypatch.setattr(memory, "measure", lambda *words: given.append(words[:-1]))
    assert experiment("seeds", "imdb", "--seeds", 7, "--device", "cpu", "--out", tmp_path).code == 0
    assert experiment("memory", "--data", "acm", "imdb", "--methods", "gcn", "gat", "--out", tmp_path).code == 0
    assert given == [("imdb", 7, tmp_path, "cpu", None), (["acm", "imdb"], ["gcn", "gat"], tmp_path)]
