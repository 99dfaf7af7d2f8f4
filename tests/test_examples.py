"""The examples run, and so does what the documents say about own tables."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from diffmg.core import read_run
from diffmg.tables import read_problem
from run_files import diffmg

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "own_tables.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "own_tables.py"


def block(kind: str) -> str:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the example, which is where commands run."""
    runpy.run_path(str(EXAMPLE))["write_files"](tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_finds_the_planted_path(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    told = capsys.readouterr().out
    assert re.search(r"author.*\n.*paper  \(wrote, reversed\)\n.*venue  \(in, reversed\)\n", told)
    score = re.search(r"macro_f1 on test: (0\.\d+|1\.0)", told)
    assert score is not None
    assert float(score[1]) > 0.7


def test_who_will_leave_is_asked_and_predicted_as_the_readme_says(tmp_path: Path, monkeypatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^diffmg ((?:ask|fit|predict) .*(?:churn).*)$", readme, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["ask", "fit", "predict"]
    runpy.run_path(str(ROOT / "examples" / "churn.py"))["write_database"](tmp_path / "shop.db", 150)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        more = ["--budget", "6", "-s", "max_epochs=40"] if command.startswith("fit") else []
        answer = diffmg(*shlex.split(command), *more)
        assert answer.code == 0, answer.err
    assert read_run(tmp_path / "runs/churn").scores("test")["roc_auc"] > 0.8
    head, *rows = (tmp_path / "june.csv").read_text().splitlines()
    assert head == "predictions,customer_id,moment,class,p(0),p(1)"
    assert len(rows) == 150


def test_people_get_films_of_their_taste(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "films.py"), run_name="__main__")
    told = capsys.readouterr().out
    ours, popular = map(float, re.findall(r"0\.\d+", told.splitlines()[0]))
    assert ours > 2 * popular
    shown = re.findall(r"p([01]) +\d +film (\d+)", told)
    assert len(shown) == 6
    assert sum(int(film) % 5 == int(person) for person, film in shown) >= 5


def test_the_example_takes_no_more_than_ten_lines() -> None:
    body = EXAMPLE.read_text(encoding="utf-8").partition("def main")[2].partition("if __name__")[0]
    assert len([line for line in body.splitlines()[2:] if line.strip()]) <= 10


def test_the_pages_python_runs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "page.py").write_text(block("python"), encoding="utf-8")
    names = runpy.run_path(str(files / "page.py"))
    assert names["model"].score() > 0.7
    assert "author.age: number" in capsys.readouterr().out


def test_the_pages_description_is_the_same_network(files: Path) -> None:
    (files / "library.toml").write_text(block("toml"), encoding="utf-8")
    problem = read_problem("library.toml")
    assert problem.graph.num_nodes == {"author": 150, "paper": 600, "venue": 15}
    assert {str(r) for r in problem.graph.schema.relations} == {
        "author -wrote-> paper",
        "paper -rev_wrote-> author",
        "paper -in-> venue",
        "venue -rev_in-> paper",
    }
    assert problem.graph.notes == ("author.age: number", "paper.year: number")


def test_the_pages_commands_run(files: Path) -> None:
    (files / "library.toml").write_text(block("toml"), encoding="utf-8")
    commands = re.findall(r"^diffmg (.*)$", PAGE, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["fit", "show", "predict"]
    for command in commands:
        answer = diffmg(*command.replace("--budget 30s", "--budget 4 -s max_epochs=20").split())
        assert answer.code == 0, answer.err
    head, first, *_ = (files / "predictions.csv").read_text().splitlines()
    assert head.startswith("author,class,")
    assert first.startswith("a0,")
