from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from made_cells import cell, run_of

from experiments.cells import Cell, StoredRun
from experiments.curves_svg import RIGHT, WIDTH
from experiments.figures import figures
from experiments.spec import Kind, Row, Table

SCORES = (0.5, 0.25, 0.75, 0.625)


def table(kind: Kind) -> Table:
    return Table("a figure", kind, ("shop:160",), 1, (Row("gcn"), Row("random")))


def curve(seconds: float, *scores: float) -> Cell:
    return Cell((StoredRun(run_of(0.5, train_0=9.0, repeat_1=seconds), {"repeat-1": scores} if scores else {}),))


CELLS = {("gcn", "shop:160"): curve(0.012, *SCORES), ("random", "shop:160"): curve(0.006, 0.5, 0.75)}


def drawn(picture: str) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    found = [e.get("points", "").split() for e in ElementTree.fromstring(picture).iter() if e.tag.endswith("polyline")]
    return [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in found]


def test_tables_of_numbers_have_none() -> None:
    assert figures(table("accuracy"), CELLS) == {}


def test_curves_show_every_epoch_of_the_kept_training_of_each_row() -> None:
    ((name, picture),) = figures(table("curves"), CELLS).items()
    assert name == "curves-shop-160.svg"
    words = set(re.findall(r">([^<>]+)</text>", picture))
    assert {"gcn", "random", "milliseconds of training", "validation macro_f1, shop:160", "12"} <= words
    longer, shorter = drawn(picture)
    heights = [y for _, y in longer]
    shares = [(heights[1] - y) / (heights[1] - heights[2]) for y in heights]
    assert shares == pytest.approx([(s - 0.25) / 0.5 for s in SCORES], abs=0.01)
    assert longer[-1][0] == WIDTH - RIGHT  # 12 milliseconds: where the axis ends
    assert [x for x, _ in shorter] == [longer[0][0], longer[1][0]]


def test_long_trainings_are_in_seconds() -> None:
    picture = figures(table("curves"), {("gcn", "shop:160"): curve(20.0, *SCORES)})["curves-shop-160.svg"]
    assert ">seconds of training<" in picture


def test_what_is_not_there_leaves_no_line() -> None:
    some = {("gcn", "shop:160"): CELLS["gcn", "shop:160"], ("random", "shop:160"): curve(0.1)}
    assert len([line for line in drawn(figures(table("curves"), some)["curves-shop-160.svg"]) if line]) == 1
    assert figures(table("curves"), {}) == {}


def test_meta_graphs_are_drawn_for_rows_that_have_one() -> None:
    cells = {("gcn", "shop:160"): cell(0.5), ("random", "shop:160"): cell(0.5, val=(0.1,))}
    found = figures(table("architectures"), cells)
    assert list(found) == ["random-shop-160.svg"]
    assert ElementTree.fromstring(found["random-shop-160.svg"]).tag.endswith("svg")


def test_the_first_run_is_drawn() -> None:
    first = CELLS["gcn", "shop:160"].stored[0]
    both = Cell((first, replace(first, history={})))
    assert figures(table("curves"), {("gcn", "shop:160"): both}) == figures(
        table("curves"), {("gcn", "shop:160"): Cell((first,))}
    )
