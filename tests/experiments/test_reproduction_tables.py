from __future__ import annotations

import statistics
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import Candidate, Run, Trained
from diffmg.reproduction import FORMS, Method, Reproduction, Sheet, sheets
from diffmg.reproduction.tables import MISSING, search_seconds

EVIL = "<script>alert('x')</script> & \"more\""
TABLE = Reproduction(
    "a title",
    "accuracy",
    ("acm", "imdb"),
    3,
    (Method("gcn", baseline="gcn"), Method("diffmg", note="searched")),
    {"gcn": {"acm": [92.5, 0.2]}, "diffmg": {"acm": [92.65, 0.15], "imdb": [61.04, 0.56]}},
)
COST = Reproduction(
    "seconds",
    "cost",
    ("amazon",),
    1,
    (Method("darts"), Method("diffmg"), Method("genetic", scale=20.0), Method("evaluation", published=True)),
    {"darts": {"amazon": [8.9, 6.9]}, "diffmg": {"amazon": [0.7, 0.3]}, "genetic": {"amazon": [800.0]}}
    | {"evaluation": {"amazon": [0.5]}},
)


def run_of(*test: float, val: tuple[float, ...] = (), seconds: dict[str, float] | None = None) -> Run:
    """A run with these test scores, and searches with these validation scores."""
    trained = tuple(Trained(n, 5, 3, {"macro_f1": 0.9}, {"macro_f1": t, "micro_f1": 0.0}) for n, t in enumerate(test))
    candidates = tuple(Candidate((MetaGraph.features_only(f"author{n}"),), v) for n, v in enumerate(val))
    return Run("done", {}, "macro_f1", {}, {}, "cpu", seconds or {}, candidates, trained=trained)


def took(**seconds: float) -> Run:
    """A run whose phases took so long; underscores stand for dashes."""
    return run_of(0.5, seconds={phase.replace("_", "-"): s for phase, s in seconds.items()})


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


def figures(table: Reproduction, runs: dict) -> dict[str, tuple[str, ...]]:
    """The row of each method: its number of trainings and its cells."""
    return {row[0]: row[1:] for row in sheets(table, runs)[0].rows}


def test_mean_deviation_and_number_of_trainings_are_the_run_s() -> None:
    run = run_of(0.5, 0.6, 0.85)
    assert run.mean("test") == pytest.approx(0.65)
    seeds, ours, *_ = figures(TABLE, {("gcn", "acm"): run})["gcn"]
    assert (seeds, ours) == ("3", f"65.00 ± {100 * statistics.stdev([0.5, 0.6, 0.85]):.2f}")


def test_one_training_has_no_deviation() -> None:
    assert figures(TABLE, {("gcn", "acm"): run_of(0.5)})["gcn"][:2] == ("1", "50.00")


def test_different_numbers_of_trainings_are_shown_from_fewest_to_most() -> None:
    runs = {("gcn", "acm"): run_of(0.5, 0.5, 0.5), ("gcn", "imdb"): run_of(0.5, 0.5)}
    assert figures(TABLE, runs)["gcn"][0] == "2 to 3"
    assert figures(TABLE, {**runs, ("gcn", "imdb"): run_of(0.5, 0.5, 0.5)})["gcn"][0] == "3"


def test_the_paper_s_figure_stands_beside() -> None:
    rows = figures(TABLE, {})
    assert rows["gcn"] == (MISSING, MISSING, "92.50 ± 0.20", MISSING, MISSING)
    assert rows["diffmg"] == (MISSING, MISSING, "92.65 ± 0.15", MISSING, "61.04 ± 0.56")


def test_where_the_paper_has_no_figure_there_is_no_column_for_it() -> None:
    (sheet,) = sheets(replace(TABLE, paper={}), {("gcn", "acm"): run_of(0.5)})
    assert sheet.heads == ("method", "seeds", "acm", "imdb")
    assert sheet.rows == (("gcn", "1", "50.00", MISSING), ("diffmg", MISSING, MISSING, MISSING))


def test_figures_of_others_stand_beside_the_paper_s() -> None:
    rows = figures(replace(TABLE, reruns={"HGB": {"gcn": {"acm": 92.28, "imdb": 59.114}}, "they": {}}), {})
    assert rows["gcn"] == (MISSING, MISSING, "92.50 ± 0.20, HGB 92.28", MISSING, "HGB 59.11")
    assert rows["diffmg"] == figures(TABLE, {})["diffmg"]


def test_rows_keep_the_order_of_the_plan_and_missing_runs_are_marked() -> None:
    rows = figures(TABLE, {("diffmg", "imdb"): run_of(0.25, 0.25), ("han", "acm"): run_of(0.1, 0.2)})
    assert list(rows) == ["gcn", "diffmg"]
    assert [(row[1], row[3]) for row in rows.values()] == [(MISSING, MISSING), (MISSING, "25.00 ± 0.00")]


def test_heads_and_notes_are_those_of_the_table() -> None:
    (sheet,) = sheets(TABLE, {("gcn", "acm"): run_of(0.5, 0.6)})
    assert sheet.title == "a title"
    assert sheet.heads == ("method", "seeds", "acm", "acm, paper", "imdb", "imdb, paper")
    assert {len(row) for row in sheet.rows} == {len(sheet.heads)}
    assert sheet.notes == ("diffmg: searched", "device: cpu")


@pytest.mark.parametrize(("trainings", "more"), [(1, ""), (3, ", the best 2 of them 3 times")])
def test_a_table_says_how_its_settings_were_chosen(trainings: int, more: str) -> None:
    (sheet,) = sheets(replace(TABLE, budget=8, trainings=trainings), {})
    wanted = f"tuned rows: 8 settings trained for each data set{more}; validation chose"
    assert sheet.notes == ("diffmg: searched", wanted)


def test_a_table_says_where_it_ran_and_which_runs_had_another_device() -> None:
    runs = {("gcn", "acm"): run_of(0.5), ("gcn", "imdb"): run_of(0.5), ("diffmg", "acm"): run_of(0.5)}
    assert sheets(TABLE, runs)[0].notes[1:] == ("device: cpu",)
    runs["gcn", "acm"] = replace(runs["gcn", "acm"], device="a card")
    assert sheets(TABLE, runs)[0].notes[1:] == ("device: cpu", "device of gcn on acm: a card")
    runs["gcn", "imdb"] = replace(runs["gcn", "imdb"], device="a card")
    assert sheets(TABLE, runs)[0].notes[1:] == ("device: a card", "device of diffmg on acm: cpu")


def test_the_spread_of_several_searches_is_a_table_of_its_own() -> None:
    runs = {
        ("gcn", "acm"): run_of(0.5),
        ("diffmg", "acm"): run_of(0.5, 0.7, val=(0.625, 0.5, 0.75)),
        ("diffmg", "imdb"): run_of(0.5, 0.7, val=(0.625,)),
    }
    spread = sheets(TABLE, runs)[1]
    assert spread.title.startswith("Spread of the searches")
    assert spread.heads == ("method", "acm", "imdb")
    assert spread.rows == (("diffmg", "50.0 to 75.0 (3)", MISSING),)
    del runs["diffmg", "imdb"]
    assert sheets(TABLE, runs)[1].rows == spread.rows
    runs["diffmg", "acm"] = run_of(0.5, 0.7, val=(0.625,))
    assert len(sheets(TABLE, runs)) == 1


def test_runs_that_have_all_the_same_meta_graphs_did_not_search() -> None:
    same = tuple(Candidate((MetaGraph.features_only("author"),), v) for v in (0.91, 0.93))
    runs = {("gcn", "dblp"): replace(run_of(0.9, 0.8), candidates=same)}
    assert len(sheets(TABLE, runs)) == 1


def test_a_search_without_a_score_shows_in_the_spread() -> None:
    runs = {("diffmg", "acm"): run_of(0.5, val=(0.5, -float("inf")))}
    assert sheets(TABLE, runs)[1].rows[0][1] == "-inf to 50.0 (2)"


def test_costs_are_the_median_seconds_of_a_search() -> None:
    run = took(search_0=2.0, train_0=1.0, search_1=9.0, train_1=1.5, search_2=4.0, repeat_1=2.0, score=99.0)
    assert figures(COST, {("darts", "amazon"): run})["darts"] == ("1", "4.00 s", "8.9 (6.9) min")
    assert search_seconds(Method("darts"), run) == 4.0


def test_without_a_search_the_cost_is_that_of_a_training() -> None:
    run = took(train_0=1.0, repeat_1=2.0, repeat_2=9.0, score=99.0)
    assert figures(COST, {("evaluation", "amazon"): run})["evaluation"] == ("1", "2.00 s training", "0.5 min")
    assert search_seconds(Method("evaluation"), run) == 0.0


def test_a_part_of_a_search_is_extrapolated_and_says_so() -> None:
    run = took(search_0=1.5, train_0=1.0)
    assert figures(COST, {("genetic", "amazon"): run})["genetic"] == ("1", "≈ 30.00 s", "800 min")
    assert search_seconds(COST.methods[2], run) == 30.0


@pytest.mark.parametrize(
    ("darts", "diffmg", "genetic", "words"),
    [
        (4.0, 3.0, 1.0, "order on amazon: diffmg < darts < genetic, as in the paper"),
        (3.0, 4.0, 1.0, "order on amazon: darts < diffmg < genetic, in the paper diffmg < darts < genetic"),
        (40.0, 3.0, 1.0, "order on amazon: diffmg < genetic < darts, in the paper diffmg < darts < genetic"),
    ],
)
def test_a_cost_says_whether_the_order_is_the_paper_s(darts: float, diffmg: float, genetic: float, words: str) -> None:
    seconds = {"darts": darts, "diffmg": diffmg, "genetic": genetic}
    runs = {(name, "amazon"): took(search_0=s) for name, s in seconds.items()}
    runs["evaluation", "amazon"] = took(train_0=0.5)
    assert sheets(COST, runs)[0].notes == ("device: cpu", words)


def test_an_order_is_of_two_or_more_and_only_of_a_cost() -> None:
    runs = {("darts", "amazon"): took(search_0=1.0), ("evaluation", "amazon"): took(train_0=1.0)}
    assert sheets(COST, {})[0].notes == ()
    assert sheets(COST, runs)[0].notes == ("device: cpu",)
    two = {**runs, ("diffmg", "amazon"): took(search_0=1.0)}
    assert len(sheets(COST, two)[0].notes) == 2
    for other in (replace(COST, kind="accuracy"), replace(COST, paper={"darts": COST.paper["darts"]})):
        assert sheets(other, two)[0].notes == ("device: cpu",)


def test_markdown_is_tables_with_notes() -> None:
    both = sheets(TABLE, {("diffmg", "acm"): run_of(0.5, 0.7, val=(0.1, 0.2))})
    first, second = both
    text = FORMS["md"](both)
    lines = text.splitlines()
    assert lines[:2] == ["**a title**", ""]
    assert [split(line) for line in (lines[2], *lines[4:6])] == [list(first.heads), *map(list, first.rows)]
    assert split(lines[3]) == ["---", *["---:"] * 5]
    assert lines[6:12] == ["", "- diffmg: searched", "- device: cpu", "", f"**{second.title}**", ""]
    assert [split(line) for line in (lines[12], *lines[14:])] == [list(second.heads), *map(list, second.rows)]
    assert text.endswith("|\n")


def test_markdown_without_notes_is_a_table_alone() -> None:
    assert FORMS["md"]([Sheet("t", ("a", "b"), (("1", "2"),))]) == "**t**\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| a\\|b | c |" in FORMS["md"]([Sheet("t", ("h", "i"), (("a|b", "c"),))])


def test_html_shows_the_same_and_needs_nothing_else() -> None:
    both = sheets(TABLE, {("diffmg", "acm"): run_of(0.5, 0.7, val=(0.1, 0.2))})
    text = FORMS["html"](both)
    seen = Page(text)
    assert text.startswith("<!doctype html>")
    assert seen.rows == [list(row) for sheet in both for row in (sheet.heads, *sheet.rows)]
    assert seen.texts.count("a title") == 2
    assert both[1].title in seen.texts
    assert "diffmg: searched" in seen.texts
    assert not {"script", "link", "img"} & seen.tags


def test_html_escapes_everything() -> None:
    table = Reproduction(
        EVIL, "accuracy", (EVIL,), 1, (Method(EVIL, note=EVIL),), {}, reruns={EVIL: {EVIL: {EVIL: 1.0}}}
    )
    text = FORMS["html"](sheets(table, {}))
    seen = Page(text)
    assert "<script" not in text
    assert seen.rows == [["method", "seeds", EVIL, f"{EVIL}, paper"], [EVIL, MISSING, MISSING, f"{EVIL} 1.00"]]
    assert f"{EVIL}: {EVIL}" in seen.texts
    assert seen.texts.count(EVIL) >= 3
