"""Jobs: work in epochs that can be interrupted and resumed without any effect on the result."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from torch import Tensor

from diffmg.core import DiffmgError, MetaGraph


@dataclass(frozen=True)
class Epoch:
    """Losses and score of one epoch."""

    epoch: int
    train_loss: float
    val_loss: float
    val_score: float


class Job(ABC):
    """Work of at most `total` epochs; `epoch`, `tensors()` and `numbers()` are its complete state."""

    total: int
    epoch: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.epoch >= self.total

    @abstractmethod
    def advance(self) -> Sequence[Epoch]:
        """Run one or more epochs: a GPU runs several before the host reads their results."""

    def seconds_left(self) -> float | None:
        """An estimate of the time left; None where there is none."""
        return None

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of its state."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """The plain values of its state, ready for JSON."""
        return {}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: B027
        """Resume from a checkpoint."""


class Search(Job):
    """A job that looks for meta graphs, one per target type of the task."""

    @abstractmethod
    def found(self) -> tuple[MetaGraph, ...]:
        """The meta graphs the search would return now."""


@dataclass
class Immediate(Search):
    """A search whose result is known before it starts."""

    metagraphs: tuple[MetaGraph, ...]
    total: int = 0

    def found(self) -> tuple[MetaGraph, ...]:
        """The result."""
        return self.metagraphs

    def advance(self) -> Sequence[Epoch]:
        """Never called: there is nothing to do."""
        raise DiffmgError(f"a finished search has no more epochs, but got a call at epoch {self.epoch}")


class Watch(Protocol):
    """Callbacks of a job's progress."""

    def begin(self, phase: str, job: Job) -> None:
        """A job starts or resumes."""

    def epoch(self, record: Epoch) -> None:
        """An epoch has ended."""

    def end(self) -> None:
        """The job has ended."""


class Quiet:
    """A watch that does nothing."""

    def begin(self, phase: str, job: Job) -> None:
        """Do nothing."""

    def epoch(self, record: Epoch) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class Store(Protocol):
    """Saves checkpoints and logs of jobs."""

    def load(self, phase: str, job: Job) -> None:
        """Restore the job from this phase's checkpoint, if there is one."""

    def log(self, phase: str, record: Epoch) -> None:
        """Log an epoch."""

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        """Save a checkpoint; without `force` only at intervals."""


def drive(phase: str, job: Job, watch: Watch, store: Store | None = None, share: float = 1.0) -> None:
    """Run a job to its end, or for a share of its epochs. Ctrl-C stops it after an epoch, with a checkpoint."""
    if store is not None:
        store.load(phase, job)
    watch.begin(phase, job)
    try:
        with _interrupt_between_epochs() as interrupted:
            while not job.done and job.epoch < share * job.total:
                start = time.perf_counter()
                records = job.advance()
                job.seconds += time.perf_counter() - start
                if store is not None:
                    for record in records:
                        store.log(phase, record)
                    store.save(phase, job, force=job.done)
                for record in records:
                    watch.epoch(record)
                if interrupted.is_set():
                    if store is not None:
                        store.save(phase, job, force=True)
                    raise KeyboardInterrupt
    finally:
        watch.end()


@contextmanager
def _interrupt_between_epochs() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a flag; a second one acts at once."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return

    def handler(_signal: int, _frame: FrameType | None) -> None:
        flag.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)
