from __future__ import annotations

from pathlib import Path

from diffmg.core.run import read_history, read_metagraphs, read_run
from run_files import diffmg

LONG = ("--search-seeds", 2, "--repeats", 2, "--save-every", 0, "-o", "epochs=40", "-s", "max_epochs=40")
"""Arguments of a fit that lasts long enough for a signal to hit it; it has five phases."""
DATA = "academic:400"
SLOWLY = Path(__file__).parent.parent / "slowly.py"
TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


def test_a_searched_meta_graph_is_written_and_can_be_trained(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    searched = diffmg("search", "academic:120", "--out", file, "-o", "epochs=3", "--depth", 2, "--seed", 4)
    assert searched.code == 0
    assert f"written to {file}" in searched.out
    (found,) = read_metagraphs(file)
    assert found.depth == 2
    trained = diffmg("train", "academic:120", "--metagraph", file, "--out", tmp_path / "run", *TINY_TRAIN)
    assert trained.code == 0
    assert read_run(tmp_path / "run").metagraphs == (found,)
    assert {r["phase"] for r in read_history(tmp_path / "run")} == {"train-0"}


def test_a_meta_graph_file_that_cannot_be_written_is_named() -> None:
    answer = diffmg("search", "academic:120", "--strategy", "random", "--out", "/proc/m.json")
    assert answer.code == 2
    assert "could not write '/proc/m.json'" in answer.err


def test_search_finds_what_the_first_search_of_fit_finds(classified: Path, tmp_path: Path) -> None:
    diffmg("search", "academic:120", "--out", tmp_path / "m.json", "-o", "epochs=4", "-s", "dim=8")
    assert read_metagraphs(tmp_path / "m.json") == read_run(classified).candidates[0].metagraphs
