from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diffmg import make_plan, run
from diffmg.core import DiffmgError
from diffmg.datasets import load_dataset
from diffmg.runs.folder import RunFolder
from diffmg.runs.lock import LOCK, locked
from diffmg.training.job import Job, Quiet

HOLD = "import sys, time; from pathlib import Path; from diffmg.runs.lock import locked\n" + (
    "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)"
)


def holder(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock of a folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_is_told_who_the_first_is_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    with process, pytest.raises(DiffmgError, match=rf"process {process.pid} on .* is writing; wait for it"):
        try:
            with locked(tmp_path):
                pytest.fail("locked twice")
        finally:
            process.kill()
    assert (tmp_path / LOCK).exists(), "what a killed process leaves behind"
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / LOCK).read_text()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_goes_with_what_is_done_under_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path), pytest.raises(DiffmgError, match="one process at a time"), locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"could not write '.*gone/\.lock'"), locked(tmp_path / "gone"):
        pass


def test_a_lock_that_was_left_behind_does_not_make_a_folder_used(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("process 1 on mars")
    with RunFolder.create(tmp_path).writing():
        assert "mars" not in (tmp_path / LOCK).read_text()


def test_a_run_that_another_process_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    mine = RunFolder.create(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(DiffmgError, match="exists already"), mine.writing():
        pass
    assert (tmp_path / "run.json").read_text() == "{}"


FIT = "from diffmg.cli import main; main()"


def fit(folder: Path) -> subprocess.Popen[str]:
    arguments = ["fit", "academic:200", "--out", folder, "-m", "mlp", "-s", "max_epochs=3000", "-s", "patience=null"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", FIT, *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def test_of_two_fits_into_one_folder_one_is_refused(tmp_path: Path) -> None:
    both = [fit(tmp_path / "run") for _ in range(2)]
    ended: list[subprocess.Popen[str]] = []
    try:
        end = time.monotonic() + 60
        while not ended and time.monotonic() < end:
            ended = [process for process in both if process.poll() is not None]
            time.sleep(0.05)
        assert len(ended) == 1, "the other one goes on"
        (other,) = (process for process in both if process not in ended)
        said = ended[0].communicate()[1]
        assert ended[0].returncode == 2, said
        assert "is writing" in said or "exists already" in said
        assert other.poll() is None
    finally:
        for process in both:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()


class Impatient(Quiet):
    """Ctrl-C before the first epoch."""

    def begin(self, phase: str, job: Job) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("race", [{}, {"budget": 3}])
def test_ctrl_c_before_the_first_epoch_leaves_a_folder_that_goes_on(race: dict[str, int], tmp_path: Path) -> None:
    problem = load_dataset("academic:120")
    settings = {"dim": 4, "max_epochs": 2}
    options = {} if race else {"epochs": 1, "search_seeds": 1}
    plan = make_plan(problem.source, "auto" if race else "diffmg", options, settings, device="cpu", **race)
    with pytest.raises(KeyboardInterrupt):
        run(plan, problem, RunFolder.create(tmp_path / "run"), Impatient())
    assert not (tmp_path / "run" / LOCK).exists()
    done, _ = run(plan, problem, RunFolder.unfinished(tmp_path / "run"))
    assert done.status == "done"
    whole, _ = run(plan, problem)
    assert (done.candidates, done.trained) == (whole.candidates, whole.trained)
