from __future__ import annotations

from pathlib import Path

import pytest
from made_cells import cell

from diffmg.core.errors import DiffmgError
from experiments import TABLES, plan_path
from experiments.documents import SUMMARY, Done, place_for, summary, wanted
from experiments.spec import Row, Table

PAGE = "before\n<!-- table: {} -->\nold\n<!-- end -->\nafter\n"
PAPER = {"diffmg": {"acm": (92.65, 0.15)}}


def made(data: str = "acm") -> dict[str, Done]:
    """Two tables, the first with every row of the summary but the last."""
    rows = tuple(map(Row, SUMMARY))
    table = Table("first", "accuracy", (data,), 2, rows, paper=PAPER)
    other = Table("second", "architectures", (), 1, (Row("diffmg"),), paper={"diffmg": {}})
    cells = {(row.name, data): cell(0.5, 0.75, val=(0.5,)) for row in rows[:-1]}
    return {
        "classification": Done(table, cells),
        "recommendation": Done(other, {("diffmg", "acm"): cells["gcn", data]}),
        "search": Done(other, {("auto", data): cell(0.875)}),
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(PAGE.format("summary"), encoding="utf-8")
    (tmp_path / "docs" / "results.md").write_text(PAGE.format("classification") + PAGE.format("speed"), "utf-8")
    return tmp_path


def test_pages_and_pictures_are_made_from_the_results(root: Path) -> None:
    files = wanted(root, made(), root)
    picture = root / "docs" / "figures" / "diffmg-acm.svg"
    assert set(files) == {root / "README.md", root / "docs" / "results.md", picture}
    page = files[root / "docs" / "results.md"]
    assert "before\n<!-- table: classification -->\n**first**\n" in page
    assert page.endswith(PAGE.format("speed"))
    assert files[root / "README.md"] == PAGE.format("summary").replace("old", summary(made()).strip())


def test_what_is_made_again_stays(root: Path) -> None:
    files = wanted(root, made(), root)
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert wanted(root, made(), root) == files


def test_the_summary_has_a_line_per_data_set() -> None:
    head, rule, line = summary(made()).splitlines()
    assert head.startswith("| data set | score (%) | paper | auto | published |")
    assert rule.startswith("|---|---|---:|")
    assert line.startswith("| acm | macro f1 | 92.65 ± 0.15 | 87.50 | 62.50 ± 17.68 |")
    assert line.endswith("|  |")


def test_a_document_without_a_place_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text, words in ((None, "none"), ("<!-- table: cost -->\nno end\n", "none"), (PAGE.format("curves"), "curves")):
        if text is not None:
            page.write_text(text, encoding="utf-8")
        with pytest.raises(DiffmgError, match=f"which has .*{words}"):
            place_for(page, "cost")
    page.write_text(PAGE.format("cost"), encoding="utf-8")
    assert place_for(page, "cost") == PAGE.format("cost")


def test_every_table_has_a_plan_file() -> None:
    assert all(plan_path(name).is_file() for name in TABLES)
