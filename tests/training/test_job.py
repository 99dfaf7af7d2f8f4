from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

from diffmg.training import Epoch, Job, Quiet, drive


class Counting(Job):
    """Counts its epochs, several per call of `advance`; `during` is called in the middle of each."""

    def __init__(self, total: int, during=lambda epoch: None, block: int = 1) -> None:
        self.total, self.during, self.block = total, during, block

    def advance(self) -> Sequence[Epoch]:
        records = []
        for epoch in range(self.epoch + 1, min(self.epoch + self.block, self.total) + 1):
            self.during(epoch)
            self.epoch = epoch
            records.append(Epoch(epoch, 0.0, 0.0, 0.0))
        return records

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def numbers(self) -> dict[str, Any]:
        return {}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        pass


class Shelf:
    """A store in memory that writes only when it must."""

    def __init__(self, kept: int | None = None) -> None:
        self.saved_epoch = kept
        self.logged: list[int] = []
        self.asked: list[tuple[int, bool]] = []

    def load(self, phase: str, job: Job) -> None:
        if self.saved_epoch is not None:
            job.epoch = self.saved_epoch

    def log(self, phase: str, record: Epoch) -> None:
        self.logged.append(record.epoch)

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        self.asked.append((job.epoch, force))
        if force:
            self.saved_epoch = job.epoch


class Note(Quiet):
    """A watch that records its calls; `during` is called at each epoch."""

    def __init__(self, during=lambda epoch: None) -> None:
        self.told: list[object] = []
        self.during = during

    def begin(self, phase: str, job: Job) -> None:
        self.told.append((phase, job.epoch))

    def epoch(self, record: Epoch) -> None:
        self.told.append(record.epoch)
        self.during(record.epoch)

    def end(self) -> None:
        self.told.append("end")


def press_ctrl_c(times: int = 1, at: int = 2):
    """A callback that interrupts at one epoch."""

    def press(epoch: int) -> None:
        if epoch == at:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return press


def test_a_job_is_taken_to_its_end():
    job, watch, store = Counting(3), Note(), Shelf()
    drive("search", job, watch, store)
    assert job.done
    assert watch.told == [("search", 0), 1, 2, 3, "end"]
    assert store.logged == [1, 2, 3]
    assert store.saved_epoch == 3


def test_epochs_that_went_by_together_are_told_one_by_one():
    job, watch, store = Counting(5, block=2), Note(), Shelf()
    drive("search", job, watch, store)
    assert watch.told == [("search", 0), 1, 2, 3, 4, 5, "end"]
    assert store.logged == [1, 2, 3, 4, 5]
    assert store.asked == [(2, False), (4, False), (5, True)]


def test_epochs_are_logged_before_the_state_that_includes_them_is_kept():
    """Otherwise a job killed in between would lack them when it resumes."""

    class Order(Shelf):
        def save(self, phase: str, job: Job, *, force: bool) -> None:
            super().save(phase, job, force=force)
            assert self.logged == list(range(1, job.epoch + 1))

    store = Order()
    drive("search", Counting(5, block=3), Quiet(), store)
    assert store.asked == [(3, False), (5, True)]


def test_seconds_are_counted():
    job = Counting(2)
    drive("search", job, Quiet())
    assert job.seconds > 0


def test_a_kept_state_is_taken_up():
    watch = Note()
    drive("search", Counting(3), watch, Shelf(kept=2))
    assert watch.told == [("search", 2), 3, "end"]


def test_a_finished_job_does_nothing():
    watch = Note()
    drive("search", Counting(3), watch, Shelf(kept=3))
    assert watch.told == [("search", 3), "end"]


def test_ctrl_c_in_an_epoch_ends_after_it_with_the_state_kept():
    job, watch, store = Counting(5, press_ctrl_c()), Note(), Shelf()
    with pytest.raises(KeyboardInterrupt):
        drive("search", job, watch, store)
    assert store.saved_epoch == job.epoch == 2
    assert watch.told[-1] == "end"


def test_ctrl_c_between_epochs_ends_with_the_state_kept():
    """It comes during the watch's callback, when this epoch's checkpoint may have been skipped."""
    job, store = Counting(5), Shelf()
    with pytest.raises(KeyboardInterrupt):
        drive("search", job, Note(press_ctrl_c()), store)
    assert store.saved_epoch == job.epoch == 2


def test_ctrl_c_among_epochs_that_go_by_together_ends_after_them():
    job, watch, store = Counting(9, press_ctrl_c(), block=4), Note(), Shelf()
    with pytest.raises(KeyboardInterrupt):
        drive("search", job, watch, store)
    assert store.saved_epoch == job.epoch == 4
    assert store.logged == [1, 2, 3, 4]
    assert watch.told == [("search", 0), 1, 2, 3, 4, "end"]
    again = Counting(9, block=4)
    drive("search", again, watch, store)
    assert store.logged == list(range(1, 10))


def test_after_ctrl_c_the_job_can_go_on():
    store = Shelf()
    with pytest.raises(KeyboardInterrupt):
        drive("search", Counting(5, press_ctrl_c()), Quiet(), store)
    again = Counting(5)
    drive("search", again, Quiet(), store)
    assert again.epoch == 5
    assert store.logged == [1, 2, 3, 4, 5]


def test_a_second_ctrl_c_acts_at_once():
    job, watch = Counting(5, press_ctrl_c(times=2)), Note()
    with pytest.raises(KeyboardInterrupt):
        drive("search", job, watch)
    assert job.epoch == 1
    assert watch.told[-1] == "end"


@pytest.mark.parametrize("job", [Counting(1), Counting(3, press_ctrl_c())], ids=["end", "interrupted"])
def test_the_signal_handler_is_put_back(job):
    before = signal.getsignal(signal.SIGINT)
    with contextlib.suppress(KeyboardInterrupt):
        drive("search", job, Quiet())
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_ends_the_watch():
    def fail(epoch: int) -> None:
        raise RuntimeError("no more memory")

    watch = Note()
    with pytest.raises(RuntimeError, match="no more memory"):
        drive("search", Counting(2, fail), watch)
    assert watch.told[-1] == "end"


def test_a_job_may_run_in_another_thread():
    """Only the main thread may set signal handlers."""
    job = Counting(3)
    thread = threading.Thread(target=drive, args=("search", job, Quiet()))
    thread.start()
    thread.join()
    assert job.done
