from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.runs.lock import locked
from diffmg.runs.replacing import check_replaceable, replacing


def write(folder: Path, words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(words)


def content(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_an_old_run_is_there_until_the_new_one_is_done(tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    with replacing(tmp_path / "run"):
        assert not (tmp_path / "run").exists()
        assert content(tmp_path) == {"run.old/run.json": "old"}
        write(tmp_path / "run", "new")
    assert content(tmp_path) == {"run/run.json": "new"}


@pytest.mark.parametrize("written", [True, False])
def test_an_old_run_comes_back_if_the_new_one_fails(written: bool, tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "run"):
        if written:
            write(tmp_path / "run", "new")
        _ = 1 / 0
    assert content(tmp_path) == {"run/run.json": "old"}


def test_an_interrupted_run_stays_beside_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    write(tmp_path / "run.old", "older")
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "run", told.append):
        write(tmp_path / "run", "new")
        raise KeyboardInterrupt
    assert content(tmp_path) == {"run/run.json": "new", "run.old/run.json": "older", "run.old-2/run.json": "old"}
    assert told == [f"the earlier run is kept in {tmp_path / 'run.old-2'}"]


def test_a_run_that_is_being_written_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    refused = pytest.raises(DiffmgError, match="one process at a time")
    with locked(tmp_path / "run"), refused, replacing(tmp_path / "run"):
        pytest.fail("replaced")
    assert content(tmp_path) == {"run/run.json": "old"}


def test_a_free_place_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        with pytest.raises(ZeroDivisionError), replacing(tmp_path / name):
            write(tmp_path / name, "unfinished")
            _ = 1 / 0
        assert content(tmp_path / name) == {"run.json": "unfinished"}


@pytest.mark.parametrize("name", ["file", "folder"])
def test_nothing_but_a_run_is_written_over(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    with pytest.raises(DiffmgError, match=rf"only a run folder, which has a run.json, .* but got '.*{name}'"):
        check_replaceable(tmp_path / name)
    assert content(tmp_path) == {"file": "mine", "folder/thesis.tex": "mine"}
