from __future__ import annotations

import statistics
from dataclasses import replace

from made_cells import cell, cell_of, race_of

from experiments.bootstrap import Difference
from experiments.comparing import Place
from experiments.pipelines import data_sheet, pipelines_markdown, spread
from experiments.spec import Row, Table

TABLE = Table(
    "a title",
    "search",
    ("acm", "imdb"),
    1,
    (Row("auto", budget="30", note="the default"), Row("gcn"), Row("svd", data=("acm",))),
)
AUTO = cell_of(race_of(0.5, 0.25, race=2.0), race_of(0.75, 0.5, race=4.0))
CELLS = {("auto", "acm"): AUTO, ("gcn", "acm"): cell(0.5, train_0=1.5)}


def test_ensembles_and_single_models_stand_side_by_side() -> None:
    gaps = {Place("gcn", "acm", "used"): Difference(0.125, -0.01, 0.2)}
    sheet = data_sheet(TABLE, "acm", CELLS, gaps)
    std = f"{100 * statistics.stdev([0.5, 0.75]):.2f}"
    assert sheet.title == "acm: test macro f1 in percent"
    assert sheet.rows == (
        ("auto", "2", f"62.50 ± {std} (50.00)", f"37.50 ± {std} (25.00)", "3.0", "30", "-", "-"),
        ("gcn", "1", "-", "50.00", "1.5", "1", "+12.50 [-1.00, +20.00]", "-"),
    )
    assert len(sheet.heads) == len(sheet.rows[0])


def test_rows_that_were_not_run_are_named_where_they_serve() -> None:
    text = pipelines_markdown(TABLE, CELLS, {})
    assert text.startswith("**a title**\n\n**acm: test macro f1 in percent**\n\n| method |")
    assert text.endswith(
        "\n- auto: the default\n- not run yet on acm: svd\n- not run yet on imdb: auto, gcn\n- device: cpu\n"
    )
    assert "imdb: test" not in text


def test_a_table_without_runs_is_only_notes() -> None:
    text = pipelines_markdown(replace(TABLE, data=("acm",)), {}, {})
    assert text == "**a title**\n\n- auto: the default\n- not run yet on acm: auto, gcn, svd\n"


def test_no_scores_are_no_number() -> None:
    assert (spread([]), spread([0.5])) == ("-", "50.00")
