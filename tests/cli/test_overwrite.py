from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from diffmg.runs import runner
from run_files import content, diffmg, read, refused
from timed_shop import write_shop

pytest.importorskip("sqlalchemy")

QUICK = ("--method", "gcn", "-s", "max_epochs=2", "-s", "dim=8")


def test_a_fit_replaces_an_earlier_run_if_it_is_told_to(classified: Path, tmp_path: Path) -> None:
    run = shutil.copytree(classified, tmp_path / "run")
    words = refused("fit", "academic:120", "--out", run, *QUICK)
    assert "replace it with --overwrite" in words
    answer = diffmg("fit", "academic:120", "--out", run, *QUICK, "--overwrite")
    assert answer.code == 0, answer.err
    assert read(run)["plan"]["method"]["name"] == "gcn"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert not (run / "metagraph.json").exists(), "nothing of the earlier run is left"


def test_a_run_can_be_repeated_in_its_own_place(copy: Path) -> None:
    before = content(copy)
    answer = diffmg("repeat", copy, "--out", copy, "--overwrite")
    assert answer.code == 0, answer.err
    assert content(copy) == before


def test_a_fit_that_fails_leaves_the_earlier_run(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(copy)
    monkeypatch.setattr(runner, "training_of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        diffmg("fit", "academic:120", "--out", copy, *QUICK, "--overwrite")
    assert content(copy) == before
    assert [p.name for p in copy.parent.iterdir()] == ["copy"]


def test_bad_input_leaves_the_earlier_run(copy: Path) -> None:
    before = content(copy)
    refused("fit", "academic:120", "--out", copy, *QUICK, "--overwrite", "-o", "layer=3")
    assert content(copy) == before


def test_what_is_no_run_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "only a run folder" in refused("fit", "academic:120", "--out", tmp_path, *QUICK, "--overwrite")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_table_of_predictions_is_replaced_if_one_is_told_to(tmp_path: Path) -> None:
    write_shop(tmp_path / "shop.db", 0, customers=12, orders=120)
    (tmp_path / "w.csv").write_text("edited")
    question = ["ask", tmp_path / "shop.db", "--predict", "count(orders)", "--of", "customers", "--within", "10d"]
    assert "exists already; choose another name, or replace it with --overwrite" in refused(
        *question, "--out", tmp_path / "w.csv"
    )
    assert diffmg(*question, "--out", tmp_path / "w.csv", "--overwrite").code == 0
    assert (tmp_path / "w.csv").read_text().startswith('"customer')
