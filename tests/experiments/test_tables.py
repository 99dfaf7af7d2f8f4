from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from made_cells import cell, cell_of, run_of

from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import Candidate
from experiments.spec import Row, Table
from experiments.tables import MISSING, Cells, Sheet, markdown, search_seconds, sheets
from experiments.tuned import Tuning

TABLE = Table(
    "a title",
    "accuracy",
    ("acm", "imdb"),
    3,
    (Row("gcn"), Row("diffmg", note="searched")),
    paper={"gcn": {"acm": (92.5, 0.2)}, "diffmg": {"acm": (92.65, 0.15), "imdb": (61.04, 0.56)}},
)
COST = Table(
    "seconds",
    "cost",
    ("amazon",),
    1,
    (Row("darts"), Row("diffmg"), Row("genetic", scale=20.0), Row("evaluation", published=True)),
    paper={"darts": {"amazon": (8.9, 6.9)}, "diffmg": {"amazon": (0.7, 0.3)}, "genetic": {"amazon": (800.0,)}}
    | {"evaluation": {"amazon": (0.5,)}},
)


def lines(table: Table, cells: Cells) -> dict[str, tuple[str, ...]]:
    """By row: the number of trainings and the cells."""
    return {line[0]: line[1:] for line in sheets(table, cells)[0].rows}


def test_mean_deviation_and_number_of_trainings_are_the_runs() -> None:
    wanted = f"65.00 ± {100 * statistics.stdev([0.5, 0.6, 0.85]):.2f}"
    for found in (cell(0.5, 0.6, 0.85), cell_of(run_of(0.5), run_of(0.6, 0.85))):
        assert lines(TABLE, {("gcn", "acm"): found})["gcn"][:2] == ("3", wanted)
    assert lines(TABLE, {("gcn", "acm"): cell(0.5)})["gcn"][:2] == ("1", "50.00")


def test_different_numbers_of_trainings_are_shown_from_fewest_to_most() -> None:
    cells = {("gcn", "acm"): cell(0.5, 0.5, 0.5), ("gcn", "imdb"): cell(0.5, 0.5)}
    assert lines(TABLE, cells)["gcn"][0] == "2 to 3"


def test_the_paper_s_figure_and_those_of_others_stand_beside() -> None:
    table = replace(TABLE, reruns={"HGB": {"gcn": {"acm": 92.28, "imdb": 59.114}}, "they": {}})
    found = lines(table, {})
    assert found["gcn"] == (MISSING, MISSING, "92.50 ± 0.20, HGB 92.28", MISSING, "HGB 59.11")
    assert found["diffmg"] == (MISSING, MISSING, "92.65 ± 0.15", MISSING, "61.04 ± 0.56")


def test_where_the_paper_has_no_figure_there_is_no_column_for_it() -> None:
    (sheet,) = sheets(replace(TABLE, paper={}), {("gcn", "acm"): cell(0.5)})
    assert sheet.heads == ("method", "seeds", "acm", "imdb")
    assert sheet.rows == (("gcn", "1", "50.00", MISSING), ("diffmg", MISSING, MISSING, MISSING))


def test_a_table_says_what_was_noted_how_it_was_tuned_and_where_it_ran() -> None:
    cells = {("gcn", "acm"): cell(0.5, device="a card"), ("gcn", "imdb"): cell(0.5), ("diffmg", "acm"): cell(0.5)}
    assert sheets(TABLE, cells)[0].notes == ("diffmg: searched", "device: cpu", "device of gcn on acm: a card")
    for trainings, more in ((1, ""), (3, ", the best 2 of them 3 times")):
        (sheet,) = sheets(replace(TABLE, tuned="tuned.jsonl", tuning=Tuning(8, trainings=trainings)), {})
        assert sheet.notes[1] == f"tuned rows: 8 settings trained for each data set{more}; validation chose"


def test_the_spread_of_several_searches_is_a_table_of_its_own() -> None:
    cells = {
        ("gcn", "acm"): cell(0.5),
        ("diffmg", "acm"): cell(0.5, 0.7, val=(0.625, 0.5, 0.75)),
        ("diffmg", "imdb"): cell(0.5, val=(0.625,)),
    }
    _, spread = sheets(TABLE, cells)
    assert spread.heads == ("method", "acm", "imdb")
    assert spread.rows == (("diffmg", "50.0 to 75.0 (3)", MISSING),)
    assert len(sheets(TABLE, {**cells, ("diffmg", "acm"): cell(0.5, val=(0.625,))})) == 1


def test_a_search_without_a_score_shows_in_the_spread() -> None:
    assert sheets(TABLE, {("diffmg", "acm"): cell(0.5, val=(0.5, None))})[1].rows[0][1] == "none to 50.0 (2)"


def test_runs_that_have_all_the_same_meta_graphs_did_not_search() -> None:
    same = replace(run_of(0.9), candidates=(Candidate((MetaGraph.features_only("author"),), 0.91),))
    assert len(sheets(TABLE, {("gcn", "acm"): cell_of(same, same)})) == 1


def test_costs_are_the_median_seconds_of_a_search() -> None:
    found = cell(0.5, search_0=2.0, train_0=1.0, search_1=9.0, train_1=1.5, search_2=4.0, repeat_1=2.0, score=99.0)
    assert lines(COST, {("darts", "amazon"): found})["darts"] == ("1", "4.00 s", "8.9 (6.9) min")
    assert search_seconds(Row("darts"), found) == 4.0


def test_without_a_search_the_cost_is_that_of_a_training() -> None:
    found = cell(0.5, train_0=1.0, repeat_1=2.0, repeat_2=9.0, score=99.0)
    assert lines(COST, {("evaluation", "amazon"): found})["evaluation"] == ("1", "2.00 s training", "0.5 min")


def test_a_part_of_a_search_is_extrapolated_and_says_so() -> None:
    found = cell(0.5, search_0=1.5, train_0=1.0)
    assert lines(COST, {("genetic", "amazon"): found})["genetic"] == ("1", "≈ 30.00 s", "800 min")


@pytest.mark.parametrize(
    ("darts", "diffmg", "words"),
    [
        (4.0, 3.0, "order on amazon: diffmg < darts < genetic, as in the paper"),
        (3.0, 4.0, "order on amazon: darts < diffmg < genetic, in the paper diffmg < darts < genetic"),
        (40.0, 3.0, "order on amazon: diffmg < genetic < darts, in the paper diffmg < darts < genetic"),
    ],
)
def test_a_cost_says_whether_the_order_is_the_paper_s(darts: float, diffmg: float, words: str) -> None:
    seconds = {"darts": darts, "diffmg": diffmg, "genetic": 1.0}
    cells = {(name, "amazon"): cell(0.5, search_0=s) for name, s in seconds.items()}
    cells["evaluation", "amazon"] = cell(0.5, train_0=0.5)
    assert sheets(COST, cells)[0].notes == ("device: cpu", words)
    assert sheets(replace(COST, kind="accuracy"), cells)[0].notes == ("device: cpu",)


def test_markdown_is_tables_with_notes() -> None:
    cells = {("diffmg", "acm"): cell(0.5, 0.7, val=(0.1, 0.2))}
    first, second = sheets(TABLE, cells)
    text = markdown(TABLE, cells)
    assert text == f"{first.markdown()}\n{second.markdown()}"
    assert first.markdown().splitlines()[:4] == [
        "**a title**",
        "",
        "| method | seeds | acm | acm, paper | imdb | imdb, paper |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    assert first.markdown().endswith("\n\n- diffmg: searched\n- device: cpu\n")


def test_markdown_without_notes_or_title_is_a_table_alone() -> None:
    assert Sheet("", ("a", "b"), (("1|2", "3"),)).markdown() == "| a | b |\n|---|---:|\n| 1\\|2 | 3 |\n"
