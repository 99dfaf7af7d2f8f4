"""Jobs: work that goes epoch by epoch and can be stopped and taken up again without a trace in its result."""

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
    """What one epoch showed."""

    epoch: int
    train_loss: float
    val_loss: float
    val_score: float


class Job(ABC):
    """Work of at most `total` epochs; `epoch`, `tensors()` and `numbers()` hold everything that decides its future."""

    total: int
    epoch: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.epoch >= self.total

    @abstractmethod
    def advance(self) -> Sequence[Epoch]:
        """Do one or more epochs: on a GPU several go by between two looks at them."""

    def tensors(self) -> dict[str, Tensor]:
        """State that is tensors."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """State that is plain values, ready for JSON."""
        return {}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: B027
        """Go on from a saved state."""


class Search(Job):
    """A job that looks for meta graphs, one per target type of the task."""

    @abstractmethod
    def found(self) -> tuple[MetaGraph, ...]:
        """The meta graphs the search would return now."""


@dataclass
class Immediate(Search):
    """A search that has its answer before it starts."""

    metagraphs: tuple[MetaGraph, ...]
    total: int = 0

    def found(self) -> tuple[MetaGraph, ...]:
        """The answer."""
        return self.metagraphs

    def advance(self) -> Sequence[Epoch]:
        """Never called: there is nothing to do."""
        raise DiffmgError(f"a finished search has no more epochs, but got a call at epoch {self.epoch}")


class Watch(Protocol):
    """Is told how a job goes."""

    def begin(self, phase: str, job: Job) -> None:
        """A job starts or goes on."""

    def epoch(self, record: Epoch) -> None:
        """An epoch is over."""

    def end(self) -> None:
        """The job is over."""


class Quiet:
    """A watch that says nothing."""

    def begin(self, phase: str, job: Job) -> None:
        """Say nothing."""

    def epoch(self, record: Epoch) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class Store(Protocol):
    """Keeps the state of jobs."""

    def load(self, phase: str, job: Job) -> None:
        """Restore the job if a state of this phase was kept."""

    def log(self, phase: str, record: Epoch) -> None:
        """Note an epoch."""

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        """Keep the job's state; without `force` only now and then."""


def drive(phase: str, job: Job, watch: Watch, store: Store | None = None, share: float = 1.0) -> None:
    """Take a job to its end, or through a share of its epochs. Ctrl-C ends it after an epoch, with its state kept."""
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

    def note(_signal: int, _frame: FrameType | None) -> None:
        flag.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
