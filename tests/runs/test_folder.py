from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.run import read_history, read_metagraphs, read_run
from diffmg.runs.folder import RunFolder, identity_of
from diffmg.runs.tensors import write_tensors
from diffmg.training import Epoch, Job
from run_files import edit, fit, read


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
        with pytest.raises(DiffmgError, match=r"but got '.*', which exists already.*resume"):
            RunFolder.create(path)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_place_where_no_folder_can_be_made_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"could not write '/proc/diffmg'"):
        RunFolder.create(Path("/proc/diffmg"))


def test_only_an_unfinished_run_goes_on(tmp_path: Path) -> None:
    path = fit(tmp_path / "run")
    with pytest.raises(DiffmgError, match=r"but got '.*run', which is done"):
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


def test_the_run_file_holds_the_checksums_of_the_others(tmp_path: Path) -> None:
    path = fit(tmp_path / "run")
    expected = {n: hashlib.sha256((path / n).read_bytes()).hexdigest() for n in ("metagraph.json", "model.safetensors")}
    assert read_run(path).files == expected


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
    for number, (every, force, saved) in enumerate([(0.0, False, True), (1e9, False, False), (1e9, True, True)]):
        folder = RunFolder.create(tmp_path / str(number), save_every=every)
        folder.save("count", Counter(), force=force)
        assert (folder.path / "checkpoints" / "count.safetensors").exists() == saved


def test_saved_states_are_dropped_at_the_end(folder: RunFolder) -> None:
    counted(folder, epochs=1, saved=1)
    folder.finish()
    folder.finish()
    assert not (folder.path / "checkpoints").exists()


def test_a_full_disk_while_logging_is_named(folder: RunFolder) -> None:
    (folder.path / "history.jsonl").symlink_to("/dev/full")
    with pytest.raises(DiffmgError, match=r"could not write '.*history\.jsonl': No space"):
        folder.log("count", Epoch(1, 0.1, 0.2, 0.3))


def test_the_history_is_a_line_of_json_per_epoch(folder: RunFolder) -> None:
    counted(folder, epochs=2, saved=2)
    lines = (folder.path / "history.jsonl").read_text().splitlines()
    record = {"phase": "count", "epoch": 2, "train_loss": 0.1, "val_loss": 0.2, "val_score": 0.3}
    assert [json.loads(line) for line in lines][1] == record


def test_a_checkpoint_of_another_plan_is_not_taken(tmp_path: Path) -> None:
    """A state of another seed, say from a folder that was put together by hand, would give neither run."""
    path = fit(tmp_path / "run")
    done = read_run(path)
    other = replace(done, plan=replace(done.plan, seed=done.plan.seed + 1))
    assert identity_of(done) != identity_of(other)
    assert identity_of(done) == identity_of(replace(done, plan=replace(done.plan, device="cuda"), status="running"))
    first, second = RunFolder.create(tmp_path / "a"), RunFolder(tmp_path / "a")
    first.write(done)
    first.save("count", Counter(), force=True)
    second.write(other)
    with pytest.raises(DiffmgError, match="must be of the plan, seed and data of its run"):
        second.load("count", Counter())


@pytest.mark.parametrize(
    "values",
    [
        {"of": "", "epoch": "3", "seconds": 1.0, "numbers": {}},
        {"of": "", "epoch": True, "seconds": 1.0, "numbers": {}},
        {"of": "", "epoch": 3, "seconds": None, "numbers": {}},
        {"of": "", "epoch": 3, "seconds": 1.0, "numbers": []},
        {"of": "", "epoch": 3, "seconds": 1.0, "numbers": {}},
        {"epoch": 3},
        {},
    ],
)
def test_a_checkpoint_of_another_form_is_named(values: dict[str, Any], folder: RunFolder) -> None:
    (folder.path / "checkpoints").mkdir()
    write_tensors(folder.path / "checkpoints" / "count.safetensors", {}, values)
    with pytest.raises(DiffmgError, match=r"checkpoint .*count\.safetensors"):
        folder.load("count", Counter())


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "3",
        '{"phase": 1, "epoch": 1}',
        '{"phase": "a"}',
        '{"phase": "a", "epoch": 1, "val_loss": "x"}',
        '{"phase": "a", "epoch": 1, "train_loss": 1, "val_loss": 1, "vbl_score": 1}',
    ],
)
def test_a_history_of_another_form_is_named(line: str, folder: RunFolder) -> None:
    (folder.path / "history.jsonl").write_text(f"{line}\n")
    with pytest.raises(DiffmgError, match=r"line 1 of '.*history\.jsonl' must"):
        read_history(folder.path)


def test_what_a_power_cut_leaves_at_the_end_of_a_history_is_left_out(folder: RunFolder) -> None:
    counted(folder, epochs=2, saved=2)
    whole = (folder.path / "history.jsonl").read_bytes()
    (folder.path / "history.jsonl").write_bytes(whole + b"\0" * 300 + b"\n\xff\xfe\n")
    assert len(read_history(folder.path)) == 2
    folder.load("count", Counter())
    assert (folder.path / "history.jsonl").read_bytes() == whole
