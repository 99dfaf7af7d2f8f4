from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from diffmg.core.run import read_history
from diffmg.reproduction import Method, Reproduction, carry_out, figures
from diffmg.viz.curves import RIGHT, WIDTH

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


def test_curves_show_every_epoch_of_a_training_of_each_method(done):
    folder, runs = done
    ((name, picture),) = figures(table("curves"), runs, folder).items()
    assert name == "curves-shop-160.svg"
    words = re.findall(r">([^<>]+)</text>", picture)
    assert {"gcn", "random", "milliseconds of training", "validation auc, shop:160"} <= set(words)
    scores = []
    for m in METHODS:
        seconds = runs[m.name, "shop:160"].seconds
        quicker = min((phase for phase in seconds if phase.startswith(("train", "repeat"))), key=seconds.__getitem__)
        scores += trained(next(folder.glob(f"{m.name}-shop-160-*")), quicker)
    assert shares(-y for line in drawn(picture) for _, y in line) == pytest.approx(shares(scores), abs=0.01)


def drawn(picture: str) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    lines = [e.get("points", "").split() for e in ElementTree.fromstring(picture).iter() if e.tag.endswith("polyline")]
    return [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in lines]


def shares(values: Iterable[float]) -> list[float]:
    """How far from the least to the largest each is: the same for heights and for the scores they stand for."""
    every = list(values)
    return [(v - min(every)) / (max(every) - min(every)) for v in every]


def trained(folder: Path, phase: str) -> list[float]:
    """The validation scores of one of a run's trainings."""
    return [r["val_score"] for r in read_history(folder) if r["phase"] == phase]


def test_of_several_trainings_the_one_of_median_seconds_is_drawn(tmp_path: Path) -> None:
    three = replace(table("curves"), methods=METHODS[:1], seeds=3)
    ((_, _, run),) = carry_out(three, tmp_path, device="cpu")
    (folder,) = tmp_path.glob("gcn-shop-160-*")
    for order in permutations((0.006, 0.012, 6.0)):
        timed = replace(run, seconds=dict(zip(("repeat-0", "repeat-1", "repeat-2"), order, strict=True)))
        picture = figures(three, {("gcn", "shop:160"): timed}, tmp_path)["curves-shop-160.svg"]
        assert {"2", "12"} <= set(re.findall(r">([^<>]+)</text>", picture))
        ((*_, (last, _)),) = (line,) = drawn(picture)
        assert last == WIDTH - RIGHT  # 12 milliseconds: where the axis ends
        scores = trained(folder, f"repeat-{order.index(0.012)}")
        assert shares(-y for _, y in line) == pytest.approx(shares(scores), abs=0.01)


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
    assert figures(table("curves"), {}, folder) == {}


def test_without_the_epochs_of_a_run_nothing_is_drawn(done, tmp_path: Path) -> None:
    _, runs = done
    assert figures(table("curves"), runs, tmp_path) == {}
