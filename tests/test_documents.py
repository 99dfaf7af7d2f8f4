"""What the documents say: their code and commands run, and what they name is there."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

import diffmg as package
from run_files import diffmg

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCE = Path(package.__file__).parent
QUICK = {"academic": "academic:120", "shop": "shop:160", "academic:1e6": "academic:1e4"}
"""Data of the README's commands, made small."""


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        script = tmp_path / f"block{number}.py"
        script.write_text(block, encoding="utf-8")
        names = runpy.run_path(str(script))
        assert names["model"].predict().shape == (4,)
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()


def commands() -> list[list[str]]:
    """The command lines of the README's blocks, without comments."""
    blocks = [block for kind, block in re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL) if not kind]
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words for words in lines if words[:1] == ["diffmg"]]


def test_the_readmes_commands_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "churn.py"))["write_database"](tmp_path / "shop.db", 60)
    found = commands()
    assert len(found) >= 10
    for words in found:
        if words[1] == "resume":
            continue  # tests/cli stops a run first
        small = [QUICK.get(word, word) for word in words[1:]]
        short = {"fit": ["-s", "max_epochs=2"], "serve": ["--check", "--port", "0"]}.get(words[1], [])
        raced = words[1] == "fit" and ("--budget" in words or "--method" not in words)
        answer = diffmg(*small, *short, *(["--budget", "4"] if raced else []))
        assert answer.code == 0, (words, answer.err)


def tour() -> list[tuple[str, str, str]]:
    """Number, call and file of every stop."""
    return re.findall(r"^\| (\d+) \| `([\w.]+)` \| `([\w/]+\.py)` \|", CONTRIBUTING, re.MULTILINE)


def test_the_tour_of_the_house_is_what_a_run_goes_through(tmp_path: Path) -> None:
    """By a profile of a race: every call is made, and for the first time in this order."""
    stops = {(call, str(SOURCE / file)): number for number, (_, call, file) in enumerate(tour())}
    first: dict[int, None] = {}

    def see(frame: FrameType, event: str, _: object) -> None:
        number = stops.get((frame.f_code.co_qualname, frame.f_code.co_filename)) if event == "call" else None
        if number is not None:
            first.setdefault(number)

    sys.setprofile(see)
    try:
        answer = diffmg("fit", "academic:120", "--budget", "4", "-s", "max_epochs=2", "--out", tmp_path / "run")
    finally:
        sys.setprofile(None)
    assert answer.code == 0, answer.err
    assert [tour()[n] for n in first] == tour()


def test_the_tour_of_the_house_names_what_is_there() -> None:
    rows = tour()
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    assert 10 <= len(rows) <= 22
    for _, call, file in rows:
        names = {n.name for n in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8"))) if hasattr(n, "name")}
        assert set(call.split(".")) <= names, (call, file)


def test_files_that_contributing_names_are_there() -> None:
    layers = "core|graph|tasks|engine|nn|training|methods|explain|tables|datasets|race|runs|viz|serve"
    for file in re.findall(rf"`((?:{layers})/[\w/]+\.py)`", CONTRIBUTING):
        assert (SOURCE / file).is_file(), file


@pytest.mark.slow
def test_the_wheel_holds_the_package_alone_and_works_in_an_empty_environment(tmp_path: Path) -> None:
    """No experiments, no benchmarks, no tests; data files, cards and types are in."""
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    assert {p.name for p in tmp_path.iterdir() if not p.name.endswith(".dist-info")} == {"diffmg", "bin"}
    for file in ("py.typed", "__init__.pyi", "datasets/cards/dblp.toml", "datasets/published/dblp.json"):
        assert (tmp_path / "diffmg" / file).is_file(), file
    code = (
        "import diffmg, sys; assert diffmg.__file__.startswith(sys.argv[1]), diffmg.__file__; "
        "from diffmg.core.method import METHODS; from diffmg.core.task import TASKS; print(len(METHODS.names()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 24
