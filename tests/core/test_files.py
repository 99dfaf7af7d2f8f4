from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.files import digest_of, make_folder, read_text, write_atomically, write_json, write_text


def raises_os(number: int) -> Callable[..., object]:
    def act(*_: object, **__: object) -> object:
        raise OSError(number, os.strerror(number))

    return act


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that was written before."""
    path = tmp_path / "notes.txt"
    write_text(path, "old")
    return path


def test_text_is_written_whole_and_replaces_what_was_there(old: Path) -> None:
    write_text(old, "new ä")
    assert old.read_bytes() == "new ä".encode()


def test_a_written_file_can_be_read_by_others(old: Path) -> None:
    assert stat.S_IMODE(old.stat().st_mode) == 0o644


def test_json_keeps_values_and_ends_in_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": [1, 0.1, None, "ä"]})
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == {"a": [1, 0.1, None, "ä"]}
    assert text.endswith("}\n")


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "No space left"), (errno.EACCES, "Permission denied")])
@pytest.mark.parametrize("step", ["mkstemp", "write", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    step: str, number: int, words: str, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"mkstemp": (tempfile, "mkstemp"), "write": (Path, "write_text"), "replace": (Path, "replace")}[step]
    monkeypatch.setattr(*place, raises_os(number))
    with pytest.raises(DiffmgError, match=rf"could not write '.*notes.txt': {words}.*; free some space"):
        write_text(old, "new")
    monkeypatch.undo()
    assert old.read_text() == "old"
    assert os.listdir(old.parent) == ["notes.txt"]  # noqa: PTH208


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(old: Path) -> None:
    def stop(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(old, stop)
    assert old.read_text() == "old"
    assert [p.name for p in old.parent.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("path", ["/proc/diffmg-notes.txt", "no/such/folder/notes.txt"])
def test_a_place_that_cannot_be_written_is_named(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiffmgError, match=rf"could not write '{path}'.*choose a place you may write to"):
        write_text(Path(path), "new")


def test_a_folder_in_the_way_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(DiffmgError, match=r"could not write '.*taken': Is a directory"):
        write_text(tmp_path / "taken", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_file_in_the_way_of_a_folder_is_named(old: Path) -> None:
    with pytest.raises(DiffmgError, match=r"could not write '.*notes.txt/sub': Not a"):
        make_folder(old / "sub")


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_link_to_a_file_stays_a_link(old: Path) -> None:
    link = old.with_name("link.txt")
    link.symlink_to(old)
    write_text(link, "new")
    assert link.is_symlink()
    assert old.read_text() == "new"


def test_text_is_read_and_what_is_no_text_is_named(old: Path, tmp_path: Path) -> None:
    assert read_text(old, "the notes") == "old"
    old.write_bytes(b"\xff\xfe")
    with pytest.raises(DiffmgError, match=r"but got '.*notes\.txt'"):
        read_text(old, "the notes")
    with pytest.raises(DiffmgError, match=r"but got no file at '.*gone'"):
        read_text(tmp_path / "gone", "the notes")
    with pytest.raises(DiffmgError, match=r"the notes .*: Is a directory"):
        read_text(tmp_path, "the notes")


def test_the_digest_of_a_file_is_that_of_its_bytes(old: Path) -> None:
    assert digest_of(old) == hashlib.sha256(b"old").hexdigest()


def test_a_file_is_synced_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut could leave an empty file under the name of the old one."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace
    folders: dict[int, str] = {tmp_path.stat().st_ino: "folder"}

    def synced(handle: int) -> None:
        done.append(f"sync {folders.get(os.fstat(handle).st_ino, 'file')}")
        fsync(handle)

    def renamed(path: Path, target: Path) -> Path:
        done.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_text(tmp_path / "a", "text")
    assert done == ["sync file", "rename", "sync folder"]
    assert (tmp_path / "a").read_text() == "text"


def test_a_text_of_more_than_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffmg.core.parse.TEXT_BYTES", 10)
    (tmp_path / "a").write_text("x" * 11)
    with pytest.raises(DiffmgError, match="must have at most 10 bytes, but got 11"):
        read_text(tmp_path / "a", "the notes")
