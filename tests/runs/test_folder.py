from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.runs.folder import RunFolder, read_tensors, write_tensors
from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import read_history, read_metagraphs, read_run
from diffmg.training import Epoch, Job
from run_files import edit, fit, read

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}


class Counter(Job):
    """A job that counts."""

    total = 5

    def __init__(self) -> None:
        self.state = torch.zeros(1)

    def advance(self) -> Sequence[Epoch]:
        self.epoch += 1
        self.state += 1
        return [Epoch(self.epoch, 0.1, 0.2, 0.3)]

    def tensors(self) -> dict[str, Tensor]:
        return {"state": self.state}

    def numbers(self) -> dict[str, Any]:
        return {"double": 2 * self.epoch}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        self.state, self.double = tensors["state"], numbers["double"]


def counted(folder: RunFolder, epochs: int, saved: int) -> None:
    """Log some epochs of the phase `count` and save the state after one of them."""
    job = Counter()
    for _ in range(epochs):
        for record in job.advance():
            folder.log("count", record)
        if job.epoch == saved:
            job.seconds = 1.5
            folder.save("count", job, force=True)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run")


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path / "a" / "b").path.is_dir()


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path).path == tmp_path


def test_a_folder_or_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(DiffmgError, match=r"a new or empty folder, but got '.*', which exists already.*resume"):
            RunFolder.create(path)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_place_where_no_folder_can_be_made_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"could not write '/proc/diffmg'"):
        RunFolder.create(Path("/proc/diffmg"))


def test_only_an_unfinished_run_goes_on(tmp_path: Path) -> None:
    path = fit(tmp_path / "run")
    with pytest.raises(DiffmgError, match=r"only an unfinished run can go on, but got '.*run', which is done"):
        RunFolder.unfinished(path)
    for status in ("running", "interrupted"):
        edit(path, status=status)
        assert RunFolder.unfinished(path).path == path


def test_a_finished_folder_holds_results_only(tmp_path: Path) -> None:
    names = {"run.json", "metagraph.json", "model.safetensors", "history.jsonl", "report.html"}
    path = fit(tmp_path / "run")
    assert {p.name for p in path.iterdir()} == names
    assert read_metagraphs(path / "metagraph.json") == read_run(path).metagraphs
    assert len(read_history(path)) == sum(e["epochs"] for e in read(path)["trained"]) + 2 * 4 + 4


def test_meta_graphs_and_model_are_read_back(folder: RunFolder) -> None:
    folder.write_metagraphs([MetaGraph.features_only("author")])
    folder.write_model(TENSORS)
    assert read_metagraphs(folder.path / "metagraph.json") == (MetaGraph.features_only("author"),)
    assert all(torch.equal(t, TENSORS[name]) for name, t in folder.read_model().items())


def test_a_job_goes_on_from_its_saved_state(folder: RunFolder) -> None:
    counted(folder, epochs=3, saved=3)
    job = Counter()
    folder.load("count", job)
    assert (job.epoch, job.seconds, job.double, job.state.item()) == (3, 1.5, 6, 3.0)


def test_epochs_after_the_saved_state_leave_the_history(folder: RunFolder) -> None:
    folder.log("other", Epoch(9, 0.1, 0.2, 0.3))
    counted(folder, epochs=4, saved=2)
    folder.load("count", Counter())
    assert [(r["phase"], r["epoch"]) for r in read_history(folder.path)] == [("other", 9), ("count", 1), ("count", 2)]


def test_without_a_saved_state_a_phase_starts_over(folder: RunFolder) -> None:
    counted(folder, epochs=4, saved=0)
    job = Counter()
    folder.load("count", job)
    assert job.epoch == 0
    assert read_history(folder.path) == []


def test_a_line_that_was_cut_off_leaves_the_history(folder: RunFolder) -> None:
    counted(folder, epochs=2, saved=2)
    whole = (folder.path / "history.jsonl").read_bytes()
    (folder.path / "history.jsonl").write_bytes(whole + whole[:20])
    folder.load("count", Counter())
    assert (folder.path / "history.jsonl").read_bytes() == whole


def test_a_state_is_saved_now_and_then_or_when_forced(tmp_path: Path) -> None:
    for number, (every, force, there) in enumerate([(0.0, False, True), (1e9, False, False), (1e9, True, True)]):
        folder = RunFolder.create(tmp_path / str(number), save_every=every)
        folder.save("count", Counter(), force=force)
        assert (folder.path / "checkpoints" / "count.safetensors").exists() == there


def test_saved_states_are_dropped_at_the_end(folder: RunFolder) -> None:
    counted(folder, epochs=1, saved=1)
    folder.finish()
    folder.finish()
    assert not (folder.path / "checkpoints").exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_file_of_tensors_is_named(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    write_tensors(path, TENSORS, {})
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-8], "empty": b"", "text": b"this is not a file of tensors"}[damage])
    with pytest.raises(DiffmgError, match=r"a file of tensors must be whole, but got '.*m\.safetensors'"):
        read_tensors(path)


def test_a_missing_file_of_tensors_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"a file of tensors must be whole, but got '.*gone'"):
        read_tensors(tmp_path / "gone")


def test_tensors_and_numbers_come_back_bit_for_bit(tmp_path: Path) -> None:
    numbers = {"epoch": 3, "best": -float("inf"), "third": 1 / 3}
    odd = {"nan": torch.tensor([float("nan"), -0.0]), "half": torch.randn(2, 3).half().T, "none": torch.empty(0)}
    write_tensors(tmp_path / "x", odd, numbers)
    tensors, read_numbers = read_tensors(tmp_path / "x")
    assert read_numbers == numbers
    assert {n: t.numpy().tobytes() for n, t in tensors.items()} == {n: t.numpy().tobytes() for n, t in odd.items()}


def test_a_full_disk_while_logging_is_named(folder: RunFolder) -> None:
    (folder.path / "history.jsonl").symlink_to("/dev/full")
    with pytest.raises(DiffmgError, match=r"could not write '.*history\.jsonl': No space left on device; free some"):
        folder.log("count", Epoch(1, 0.1, 0.2, 0.3))


def test_a_full_disk_leaves_the_old_model(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_model(TENSORS)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DiffmgError, match=r"could not write '.*model\.safetensors': No space left"):
        folder.write_model({"a": torch.zeros(1)})
    monkeypatch.undo()
    assert torch.equal(folder.read_model()["a"], TENSORS["a"])
    assert [p.name for p in folder.path.iterdir()] == ["model.safetensors"]


def test_the_tensor_library_failing_to_write_is_named(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import SafetensorError

    import diffmg.runs.folder

    def fail(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr(diffmg.runs.folder, "save_file", fail)
    with pytest.raises(DiffmgError, match=r"could not write '.*model\.safetensors': I/O error: No space left"):
        folder.write_model(TENSORS)
    assert list(folder.path.iterdir()) == []


def test_the_history_is_a_line_of_json_per_epoch(folder: RunFolder) -> None:
    counted(folder, epochs=2, saved=2)
    lines = (folder.path / "history.jsonl").read_text().splitlines()
    record = {"phase": "count", "epoch": 2, "train_loss": 0.1, "val_loss": 0.2, "val_score": 0.3}
    assert [json.loads(line) for line in lines][1] == record
