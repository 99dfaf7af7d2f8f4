"""`--json` and `--quiet`, for every command there is."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from hypothesis import given
from hypothesis import strategies as st

from diffmg.cli import app, output
from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import read_run
from diffmg.viz import draw_all
from run_files import TINY, Answer, diffmg, interrupt, read
from shop_database import make_sqlite
from timed_shop import write_shop

pytest.importorskip("sqlalchemy")

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
NAMES = sorted(typer.main.get_command(app).commands)
QUICK = ("--method", "gcn", "-s", "max_epochs=2", "-s", "dim=8")


def documented() -> dict[str, list[str]]:
    """The keys that the page says a command's document has."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`[\w ]+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    return {name: re.findall(r"`([\w ]+)`", keys) for name, keys in rows}


@pytest.fixture
def commands(classified: Path, recommended: Path, tmp_path: Path, monkeypatch) -> Callable[[str], list[object]]:
    """The arguments of a command that ends in no time."""
    monkeypatch.chdir(tmp_path)

    def arguments(name: str) -> list[object]:
        if name == "resume":
            with monkeypatch.context() as patch:
                interrupt(3, patch)
                diffmg("fit", "academic:120", "--out", "stopped", *QUICK[:2], "-s", "max_epochs=20")
            return ["stopped"]
        if name == "ask":
            words = ["--predict", "count(orders)", "--of", "customers", "--within", "10d", "--out", "asked.csv"]
            return [write_shop(tmp_path / "timed.db", 0, customers=12, orders=120), *words]
        if name == "describe":
            return [make_sqlite(tmp_path / "shop.db"), "--target", "customers.churned"]
        return {
            "demo": ["--data", "academic:120"],
            "fit": ["academic:120", "--out", "run", *QUICK],
            "repeat": [classified, "--out", "again"],
            "describe": [make_sqlite(tmp_path / "shop.db"), "--target", "customers.churned"]
            if name == "describe"
            else [],
            "plan": ["academic:120", *QUICK[2:], "--method", "diffmg"],
            "export": ["academic:120", "tables"],
            "score": [classified],
            "predict": [classified, "--id", "3"],
            "recommend": [recommended, "--id", "17", "-k", "2"],
            "embed": [classified, "--out", "vectors.npy"],
            "similar": [classified, "--id", "3", "-k", "2"],
            "explain": [classified],
            "show": [classified],
            "serve": [classified, "--check", "--port", "0"],
            "report": [shutil.copytree(classified, tmp_path / "copy")] if name == "report" else [],
            "datasets": ["academic"],
            "list": [],
        }[name]

    return arguments


@pytest.fixture(autouse=True)
def quick_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    from diffmg.cli import demo

    monkeypatch.setattr(demo, "BUDGET", "4")
    monkeypatch.setattr(demo, "RANDOM_DRAWS", 1)


def document(answer: Answer) -> dict[str, Any]:
    assert answer.code == 0, answer.err
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_command_writes_the_document_that_the_page_describes(name: str, commands) -> None:
    answer = diffmg(name, *commands(name), "--json")
    assert documented()[name], "docs/command_line.md has a table of commands and keys"
    assert set(documented()[name]) <= set(document(answer))


def test_the_page_describes_every_command() -> None:
    assert sorted(documented()) == NAMES


def test_options_before_the_command_count_too(classified: Path) -> None:
    before, after = diffmg("--json", "score", classified), diffmg("score", classified, "--json")
    assert before == after
    assert document(before)["scores"]["test"] == pytest.approx(read(classified)["scores"]["test"])


def test_the_document_of_a_fit_is_its_run_file(tmp_path: Path) -> None:
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY, "--json")
    assert document(answer) == {"folder": str(tmp_path / "run")} | read(tmp_path / "run")
    assert "scores of the kept model" in answer.err


def test_answers_are_rows_and_those_in_a_file_are_counted(classified: Path, tmp_path: Path) -> None:
    rows = document(diffmg("predict", classified, "--json"))["rows"]
    names, *lines = diffmg("predict", classified).out.splitlines()
    assert [list(row) for row in rows[:1]] == [names.split(",")]
    assert [row["class"] for row in rows] == [line.split(",")[1] for line in lines]
    written = document(diffmg("predict", classified, "--out", tmp_path / "p.csv", "--json"))
    assert written == {"written": str(tmp_path / "p.csv"), "count": len(lines)}


def test_a_drawing_is_in_the_document_or_in_its_file(classified: Path, tmp_path: Path) -> None:
    shown = document(diffmg("show", classified, "--format", "mermaid", "--json"))
    run = read_run(classified)
    metagraphs = run.metagraphs
    assert [MetaGraph.from_dict(m) for m in shown["metagraphs"]] == list(metagraphs)
    assert shown["drawing"] == draw_all(metagraphs, "mermaid", importances=run.importances)
    assert document(diffmg("show", classified, "--out", tmp_path / "m.txt", "--json"))["drawing"] is None


def test_quiet_leaves_nothing_but_the_answer_and_errors(classified: Path, tmp_path: Path) -> None:
    assert diffmg("fit", "academic:120", "--out", tmp_path / "run", *QUICK, "--quiet") == Answer(0, "", "")
    assert diffmg("-q", "score", classified) == Answer(0, "", "")
    asked = diffmg("predict", classified, "--id", "3", "-q")
    assert (asked.out, asked.err) == (diffmg("predict", classified, "--id", "3").out, "")
    refused = diffmg("score", "gone", "--quiet", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: a model must be a run folder")
    assert diffmg("list").out, "the next command speaks again"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_written_so_that_it_reads_back(value: Any) -> None:
    def finite(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: finite(v) for name, v in value.items()}
        if isinstance(value, list):
            return [finite(v) for v in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    assert json.loads(output.as_text(value)) == finite(value)


def test_arrays_paths_and_dates_are_written() -> None:
    value = {"a": np.array([1.5, np.nan]), "p": Path("x/y"), "d": date(2026, 1, 2), "s": (np.int64(3), {"z"}), 4: "é"}
    wanted = {"a": [1.5, None], "p": "x/y", "d": "2026-01-02", "s": [3, ["z"]], "4": "é"}
    assert json.loads(output.as_text(value)) == wanted
    assert "é" in output.as_text(value)
