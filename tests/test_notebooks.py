"""The notebooks of `examples/`: their cells run in order, and what they show at the end of a cell can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["metadata"]["language_info"]["name"]) == (4, "python")
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def run(source: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last line, if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec", dont_inherit=True), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(path):
        value = run("".join(cell["source"]), names)
        shown = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
        assert shown
    CHECKS[path.stem](names)


def check_classes(names: dict[str, Any]) -> None:
    assert names["model"].score() > 0.6, "a third by chance"
    assert {name: len(found) for name, found in names["scores"].items()} == {"mlp": 3, "rgcn": 3}
    assert names["scores"]["rgcn"].mean() > names["scores"]["mlp"].mean()


def check_films(names: dict[str, Any]) -> None:
    assert names["scores"]["ndcg"] > names["scores"]["popularity_ndcg"]
    assert len(names["recommended"]) == 10
    assert names["best"]
    assert Path("runs/films/run.json").is_file()


CHECKS = {"classify_from_csv": check_classes, "recommend_from_ratings": check_films}


def test_every_notebook_is_checked_and_has_no_outputs() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(CHECKS)
    for path in NOTEBOOKS:
        for cell in cells(path):
            assert (cell["outputs"], cell["execution_count"]) == ([], None), path.name
