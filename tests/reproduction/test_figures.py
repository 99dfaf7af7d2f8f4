from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from diffmg.reproduction import Method, Reproduction, carry_out, figures
from diffmg.run import read_history

SETTINGS = {"all": {"dim": 8, "max_epochs": 6, "patience": None}}
METHODS = (
    Method("gcn", baseline="gcn", settings=SETTINGS),
    Method("random", strategy="random", search_seeds=2, settings=SETTINGS),
)


def table(kind: str) -> Reproduction:
    return Reproduction("a figure", kind, ("shop:160",), 1, METHODS, {})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("runs")
    return folder, {(m.name, on): run for m, on, run in carry_out(table("curves"), folder, device="cpu")}


def test_tables_of_numbers_have_none(done):
    folder, runs = done
    assert figures(table("accuracy"), runs, folder) == {}


def test_curves_show_every_epoch_of_the_first_training_of_each_method(done):
    folder, runs = done
    ((name, picture),) = figures(table("curves"), runs, folder).items()
    assert name == "curves-shop-160.svg"
    lines = [e.get("points", "").split() for e in ElementTree.fromstring(picture).iter() if e.tag.endswith("polyline")]
    assert [len(line) for line in lines] == [6, 6]
    words = re.findall(r">([^<>]+)</text>", picture)
    assert {"gcn", "random", "milliseconds of training", "validation auc, shop:160"} <= set(words)
    scores = [r["val_score"] for m in METHODS for r in first(next(folder.glob(f"{m.name}-shop-160-*")))]
    assert f"{max(scores):.3g}" in words
    assert f"{min(scores):.3g}" in words


def first(folder: Path) -> list[dict]:
    """The records of a run's first training."""
    records = [r for r in read_history(folder) if not r["phase"].startswith("search")]
    return [r for r in records if r["phase"] == records[0]["phase"]]


def test_meta_graphs_are_drawn_for_methods_that_have_one(done):
    folder, runs = done
    found = figures(table("architectures"), runs, folder)
    assert list(found) == ["random-shop-160.svg"]
    assert ElementTree.fromstring(found["random-shop-160.svg"]).tag.endswith("svg")


def test_runs_that_are_not_there_leave_no_line(done):
    folder, runs = done
    some = {key: run for key, run in runs.items() if key[0] == "gcn"}
    picture = figures(table("curves"), some, folder)["curves-shop-160.svg"]
    assert picture.count("<polyline") == 1
    assert figures(table("curves"), {}, folder) == {"curves-shop-160.svg": ""}
