"""What soaking found: each fault by itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from diffmg.cli import fit as fit_command
from diffmg.core.errors import DiffmgError, WriteError
from diffmg.core.files import cannot_write, is_temporary, make_folder, write_text
from diffmg.runs import beside
from diffmg.runs.folder import RunFolder
from diffmg.runs.lock import LOCK, locked
from diffmg.runs.replacing import replacing
from diffmg.training import Epoch
from diffmg.training.job import Immediate
from run_files import TINY, content, diffmg, refused


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_fit_that_was_killed_before_it_began_leaves_its_place_free(classified: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / LOCK).write_text("process 1 on mars")
    (run / ".run.json.ab_c1234").write_text("{")
    assert diffmg("fit", "academic:120", "--out", run, *TINY).code == 0
    assert content(run) == content(classified)
    assert names(run) == names(classified)


def test_temporary_files_are_known_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("diffmg.core.files.sync", lambda path: seen.append(path.name))
    write_text(tmp_path / "run.json", "{}")
    assert is_temporary(seen[0])
    assert not any(map(is_temporary, ("run.json", LOCK, "model.safetensors", ".gitignore", "history.jsonl")))


def test_resume_tidies_a_run_that_was_stopped_at_its_very_end(classified: Path, tmp_path: Path) -> None:
    run = shutil.copytree(classified, tmp_path / "run")
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "train-0.safetensors").write_bytes(b"old")
    (run / "report.html").unlink()
    before = content(run)
    assert diffmg("resume", run).code == 0
    assert content(run) == before
    assert names(run) == names(classified)
    assert "only an unfinished run can go on" in refused("resume", run)


def test_a_run_that_appears_while_data_are_read_is_not_moved_away(
    classified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, opened = tmp_path / "run", fit_command.open_data

    def slowly(*given: Any) -> Any:
        found = opened(*given)
        shutil.copytree(classified, run)
        return found

    monkeypatch.setattr(fit_command, "open_data", slowly)
    assert "which exists already" in refused("fit", "academic:120", "--out", run, *TINY)
    assert content(run) == content(classified)
    assert names(tmp_path) == {"run"}


def test_a_run_that_is_being_written_is_not_replaced(classified: Path, tmp_path: Path) -> None:
    run = shutil.copytree(classified, tmp_path / "run")
    with locked(run):
        assert "one process at a time" in refused("fit", "academic:120", "--out", run, *TINY, "--overwrite")
    assert content(run) == content(classified)
    assert names(tmp_path) == {"run"}


def test_what_another_process_writes_is_not_deleted_when_a_new_run_fails(classified: Path, tmp_path: Path) -> None:
    run, told = shutil.copytree(classified, tmp_path / "run"), list[str]()
    with pytest.raises(DiffmgError, match="too late"), replacing(run, told.append):
        run.mkdir()
        other = locked(run)
        other.__enter__()
        raise DiffmgError("too late")
    assert names(run) == {LOCK}
    assert content(tmp_path / "run.old") == content(classified)
    assert told == [f"the earlier run is kept in {tmp_path / 'run.old'}"]
    other.__exit__(None, None, None)


def test_a_lock_whose_folder_was_moved_leaves_the_lock_of_the_next_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with locked(run):
        run.rename(tmp_path / "aside")
        run.mkdir()
        (run / LOCK).write_text("process 1 on mars")
    assert names(run) == {LOCK}


def test_a_full_disk_is_no_weakness_of_a_rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise cannot_write(tmp_path, OSError(28, "No space left on device"))

    monkeypatch.setattr(beside, "drive", full)
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY[:-2], "--beside", "mlp")
    assert answer.code == 2
    assert "No space left on device" in answer.err.splitlines()[-1]


def test_a_place_that_may_not_be_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", forbidden)
    with pytest.raises(WriteError, match="Permission denied"):
        RunFolder.check_free(tmp_path / "run")
    with pytest.raises(DiffmgError, match=r"must be readable, but got .*Permission denied"):
        RunFolder.has_leftovers(tmp_path / "run")


def test_a_checkpoint_is_never_newer_than_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, synced, real = RunFolder.create(tmp_path / "run"), list[str](), os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    folder.log("train-0", Epoch(1, 0.1, 0.2, 0.3))
    monkeypatch.setattr(os, "fsync", noted)
    folder.save("train-0", Immediate(()), force=True)
    history, checkpoint = synced.index("history.jsonl"), synced.index("checkpoints")
    assert "run" in synced[history:checkpoint]


def test_a_new_folder_is_there_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("diffmg.core.files.sync", synced.append)
    make_folder(tmp_path / "a" / "b")
    assert {*synced} == {tmp_path, tmp_path / "a"}
    make_folder(tmp_path / "a" / "b")
    assert len(synced) == 2


def test_a_disk_that_cannot_sync_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.log("train-0", Epoch(1, 0.1, 0.2, 0.3))
    (tmp_path / "run" / "checkpoints").mkdir()

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(WriteError, match=r"could not write .*history\.jsonl.*Input/output error"):
        folder.save("train-0", Immediate(()), force=True)
