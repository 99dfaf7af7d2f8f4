from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.run import read_history, read_metagraphs, read_run
from run_files import diffmg, refused

TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


def test_a_searched_meta_graph_is_written_and_can_be_trained(tmp_path: Path) -> None:
    file = tmp_path / "new" / "m.json"
    searched = diffmg("search", "academic:120", "--out", file, "-o", "epochs=3", "--depth", 2, "--seed", 4)
    assert searched.code == 0
    assert f"written to {file}" in searched.out
    (found,) = read_metagraphs(file)
    assert found.depth == 2
    trained = diffmg("fit", "academic:120", "--metagraph", file, "--out", tmp_path / "run", *TINY_TRAIN)
    assert trained.code == 0
    assert read_run(tmp_path / "run").metagraphs == (found,)
    assert {r["phase"] for r in read_history(tmp_path / "run")} == {"train-0"}


def test_search_finds_what_the_first_search_of_fit_finds(classified: Path, tmp_path: Path) -> None:
    diffmg("search", "academic:120", "--out", tmp_path / "m.json", "-o", "epochs=4", "-s", "dim=8")
    assert read_metagraphs(tmp_path / "m.json") == read_run(classified).candidates[0].metagraphs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("acadmic", "unknown data set 'acadmic'; did you mean 'academic'?"),
        ("academic:120 --depth 0", "`depth >= 1` must hold, but got depth=0"),
        ("academic:120 --method gcn", "only a method with a meta graph can search for one, but got 'gcn'"),
        ("academic:120 --method difmg", "unknown method 'difmg'; did you mean 'diffmg'?"),
        ("academic:120 -s dims=3", "unknown training setting 'dims'; did you mean 'dim'?"),
    ],
    ids=lambda value: value if "'" not in value and "`" not in value else "",
)
def test_bad_input_is_named_and_leaves_nothing(arguments: str, words: str, tmp_path: Path) -> None:
    assert words in refused("search", *arguments.split(), "--out", tmp_path / "new" / "m.json")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named() -> None:
    arguments = ("academic:120", "--method", "random", "--out")
    answer = diffmg("search", *arguments, "/proc/m.json")
    assert answer.code == 2
    assert "error: could not write '/proc/m.json'" in answer.err
    assert "could not write '/proc/new'" in diffmg("search", *arguments, "/proc/new/m.json").err
