"""`diffmg explain`: answers and whole models, on the terminal and in files."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from diffmg.core.codec import from_plain
from diffmg.core.importance import Explanation, path_words
from diffmg.core.run import read_run
from diffmg.core.schema import Relation
from diffmg.runs.model import Model
from run_files import diffmg, fit, refused


def test_one_answer_is_explained(classified: Path) -> None:
    answer = diffmg("explain", classified, "--id", "3", "-k", "2")
    assert answer.code == 0, answer.err
    (each,) = Model.load(classified).explain([3], 2)
    assert f"author 3: {each.answer}" in answer.out
    assert len(each.contributions) <= 12
    for c in each.contributions:
        (line,) = [x for x in answer.out.splitlines() if f" {c.words('author')} " in x and f"{c.effect:+.4g}" in x]
        assert f"{c.share:+.1%}" in line
        assert line.count("(") == len(c.sources) <= 2


def test_pairs_need_both_ends(recommended: Path) -> None:
    answer = diffmg("explain", recommended, "--id", "0", "--item", "2")
    assert "user 0: score" in answer.out
    assert "item 2: score" in answer.out
    assert "give one --item for each --id" in refused("explain", recommended, "--id", "0")


def test_items_are_for_pairs(classified: Path) -> None:
    assert "--item is for pairs" in refused("explain", classified, "--id", "0", "--item", "2")


def test_without_an_id_the_paths_of_the_run_are_shown(classified: Path) -> None:
    found = read_run(classified).importances
    shown = diffmg("explain", classified).out
    assert found
    for each in found:
        assert f" {path_words(each.path, each.target)} " in shown
        assert f"{each.drop:.4f} ± {each.std:.4f}" in shown


def test_a_model_file_has_its_paths_judged(classified: Path) -> None:
    assert diffmg("explain", classified / "model.safetensors").out == diffmg("explain", classified).out


def test_files(classified: Path, tmp_path: Path) -> None:
    for name in ("e.json", "e.csv"):
        assert diffmg("explain", classified, "--id", "3", "--out", tmp_path / name).code == 0
    (plain,) = json.loads((tmp_path / "e.json").read_text())
    each = from_plain(Explanation, plain, "it")
    assert each == Model.load(classified).explain([3])[0]
    with (tmp_path / "e.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["share"]) for row in rows] == [c.share for c in each.contributions]
    assert diffmg("explain", classified, "--out", tmp_path / "all.csv").code == 0
    with (tmp_path / "all.csv").open(newline="") as file:
        drops = [float(row["drop"]) for row in csv.DictReader(file)]
    assert drops == [p.drop for p in read_run(classified).importances]
    assert "a .json or .csv file, but got" in refused("explain", classified, "--out", tmp_path / "e.txt")


def test_a_rival_refuses(tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "academic:120", "--method", "mlp", "-s", "max_epochs=1")
    for words in ((), ("--id", "0")):
        assert "needs a model with a meta graph, but got one of mlp" in refused("explain", path, *words)


@pytest.mark.parametrize("node", ["9999", "abc"])
def test_unknown_ids(node: str, classified: Path) -> None:
    assert "every id must be one of the 'author' nodes" in refused("explain", classified, "--id", node)


def test_names_with_markup_and_control_characters_are_shown_as_they_are() -> None:
    path = (Relation("[b]x", "\x1b[31mr", "a"),)
    assert path_words(path, "a\n") == "a\\n <- [b]x"


def test_an_ensemble_of_rivals_alone_is_replaced_by_the_single_model(classified: Path, tmp_path: Path) -> None:
    """Put together by hand: the model of a rival, and beside it a single model with a meta graph."""
    rival = fit(tmp_path / "rival", "academic:120", "--method", "mlp", "-s", "max_epochs=1")
    shutil.copy(classified / "model.safetensors", rival / "single.safetensors")
    answer = diffmg("explain", rival, "--id", "3")
    assert answer.out == diffmg("explain", classified, "--id", "3").out
    assert "this is the single model" in answer.err
