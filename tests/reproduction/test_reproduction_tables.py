from __future__ import annotations

import math
import statistics
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from diffmg.metagraph import MetaGraph
from diffmg.reproduction import FORMS, Method, Reproduction, Row, rows_of
from diffmg.reproduction.tables import MISSING, cells, heads
from diffmg.run import Candidate, Run, Trained

EVIL = "<script>alert('x')</script> & \"more\""
TABLE = Reproduction(
    "a title",
    "accuracy",
    ("acm", "imdb"),
    3,
    (Method("gcn", baseline="gcn"), Method("diffmg", note="searched")),
    {"gcn": {"acm": [92.5, 0.2]}, "diffmg": {"acm": [92.65, 0.15], "imdb": [61.04, 0.56]}},
)


def run_of(*test: float, val: tuple[float, ...] = (), seconds: dict[str, float] | None = None) -> Run:
    """A run with these test scores, and searches with these validation scores."""
    trained = tuple(Trained(n, 5, 3, {"macro_f1": 0.9}, {"macro_f1": t, "micro_f1": 0.0}) for n, t in enumerate(test))
    candidates = tuple(Candidate((MetaGraph.features_only("author"),), v) for v in val)
    return Run("done", {}, "macro_f1", {}, {}, "cpu", seconds or {}, candidates, trained=trained)


class Page(HTMLParser):
    """Cells of each row of a table, as a reader sees them; every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def split(line: str) -> list[str]:
    """Cells of a line of a Markdown table."""
    assert line.startswith("|")
    assert line.endswith("|")
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_mean_deviation_and_number_of_trainings_are_the_run_s() -> None:
    run = run_of(0.5, 0.6, 0.85)
    assert run.mean("test") == pytest.approx(0.65)
    ((ours, _), _), _ = (row.cells for row in rows_of(TABLE, {("gcn", "acm"): run}))
    assert ours == f"65.00 ± {100 * statistics.stdev([0.5, 0.6, 0.85]):.2f} (3)"


def test_the_paper_s_figure_stands_beside() -> None:
    rows = rows_of(TABLE, {})
    assert rows[0].cells == ((MISSING, "92.50 ± 0.20"), (MISSING, MISSING))
    assert rows[1].cells == ((MISSING, "92.65 ± 0.15"), (MISSING, "61.04 ± 0.56"))


def test_rows_keep_the_order_of_the_plan_and_missing_runs_are_marked() -> None:
    rows = rows_of(TABLE, {("diffmg", "imdb"): run_of(0.25, 0.25), ("han", "acm"): run_of(0.1, 0.2)})
    assert [row.method for row in rows] == ["gcn", "diffmg"]
    assert [[ours for ours, _ in row.cells] for row in rows] == [[MISSING, MISSING], [MISSING, "25.00 ± 0.00 (2)"]]
    assert [row.note for row in rows] == ["", "searched"]


def test_the_spread_of_several_searches_is_shown() -> None:
    several = rows_of(TABLE, {("diffmg", "acm"): run_of(0.5, 0.7, val=(0.625, 0.5, 0.75))})[1].cells[0][0]
    assert several == "60.00 ± 14.14 (2), searches 50.0 to 75.0 on validation"
    one = rows_of(TABLE, {("diffmg", "acm"): run_of(0.5, 0.7, val=(0.625,))})[1].cells[0][0]
    assert one == "60.00 ± 14.14 (2)"


def test_one_training_has_no_deviation() -> None:
    assert math.isnan(run_of(0.5).std("test"))
    assert "nan" not in rows_of(TABLE, {("gcn", "acm"): run_of(0.5)})[0].cells[0][0]


def test_costs_are_mean_seconds_of_a_search_and_of_a_training() -> None:
    table = replace(TABLE, kind="cost", paper={"gcn": {"acm": "0.7 (0.3) min"}})
    seconds = {"search-0": 2.0, "train-0": 1.0, "search-1": 4.0, "train-1": 1.5, "repeat-1": 2.0, "score": 9.0}
    runs = {("gcn", "acm"): run_of(0.5, seconds={"repeat-0": 1.25, "score": 9.0})}
    runs |= {("diffmg", "acm"): run_of(0.5, seconds=seconds)}
    gcn, diffmg = rows_of(table, runs)
    assert gcn.cells[0] == ("1.25 s training", "0.7 (0.3) min")
    assert diffmg.cells[0] == ("3.00 s search, 1.50 s training", MISSING)


def test_there_are_as_many_cells_as_heads() -> None:
    assert heads(TABLE) == ["method", "acm", "acm, paper", "imdb", "imdb, paper"]
    for row in rows_of(TABLE, {("gcn", "acm"): run_of(0.5, 0.6)}):
        assert len(cells(row)) == len(heads(TABLE))
        assert cells(row)[0] == row.method


def test_markdown_is_a_table_with_notes() -> None:
    rows = rows_of(TABLE, {("gcn", "acm"): run_of(0.5, 0.7, val=(0.1, 0.2))})
    text = FORMS["md"](TABLE, rows)
    lines = text.splitlines()
    assert [split(line) for line in (lines[0], *lines[2:4])] == [heads(TABLE), *map(cells, rows)]
    assert split(lines[1]) == ["---", "---:", "---:", "---:", "---:"]
    assert lines[4:] == ["", "- diffmg: searched"]
    assert text.endswith("\n")


def test_markdown_without_notes_is_a_table_alone() -> None:
    rows = [Row("gcn", (("1", "2"), ("3", "4")))]
    assert len(FORMS["md"](TABLE, rows).splitlines()) == 3


def test_html_shows_the_same_and_needs_nothing_else() -> None:
    rows = rows_of(TABLE, {("gcn", "acm"): run_of(0.5, 0.7)})
    text = FORMS["html"](TABLE, rows)
    seen = Page(text)
    assert text.startswith("<!doctype html>")
    assert seen.rows == [heads(TABLE), *map(cells, rows)]
    assert "a title" in seen.texts
    assert "diffmg: searched" in seen.texts
    assert not {"script", "link", "img"} & seen.tags


def test_html_escapes_everything() -> None:
    table = Reproduction(EVIL, "accuracy", (EVIL,), 1, (Method(EVIL, note=EVIL),), {EVIL: {EVIL: EVIL}})
    text = FORMS["html"](table, rows_of(table, {}))
    seen = Page(text)
    assert "<script" not in text
    assert seen.rows == [["method", EVIL, f"{EVIL}, paper"], [EVIL, MISSING, EVIL]]
    assert f"{EVIL}: {EVIL}" in seen.texts
