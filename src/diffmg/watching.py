"""Who watches a fit in Python: progress on stderr, functions of the user, watches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from diffmg.core import DiffmgError, Plan, Task
from diffmg.runs.runner import phases_of
from diffmg.training.job import Epoch, Job, Watch
from diffmg.viz.progress import ProgressWatch

Callback = Watch | Callable[[str, Epoch], object]
"""A watch, or a function of the phase's name and the epoch."""


class Calling:
    """A function as a watch."""

    def __init__(self, function: Callable[[str, Epoch], object]) -> None:
        self.function = function

    def begin(self, phase: str, job: Job) -> None:  # noqa: ARG002
        """Remember the phase."""
        self.phase = phase

    def epoch(self, record: Epoch) -> None:
        """Call the function."""
        self.function(self.phase, record)

    def end(self) -> None:
        """Do nothing."""


class Several:
    """Watches that are told one after another."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self.watches = watches

    def begin(self, phase: str, job: Job) -> None:
        """A job starts or resumes."""
        for watch in self.watches:
            watch.begin(phase, job)

    def epoch(self, record: Epoch) -> None:
        """An epoch has ended."""
        for watch in self.watches:
            watch.epoch(record)

    def end(self) -> None:
        """The job has ended."""
        for watch in self.watches:
            watch.end()


@contextmanager
def watching(
    callbacks: Sequence[Callback], task: Task, plan: Plan, *, verbose: bool, more: Watch | None = None
) -> Iterator[Several]:
    """All who watch a fit, while it lasts."""
    watches = [_as_watch(callback) for callback in (*callbacks, *([] if more is None else [more]))]
    if not verbose:
        yield Several(watches)
        return
    with ProgressWatch(task.metric, task.sign, phases=phases_of(plan)).listening() as progress:
        yield Several([progress, *watches])


def _as_watch(callback: Callback) -> Watch:
    if all(callable(getattr(callback, name, None)) for name in ("begin", "epoch", "end")):
        return callback  # type: ignore[return-value]  # checked
    if not callable(callback):
        raise DiffmgError(f"a callback is a function of phase and epoch, or a watch, but got {callback!r}")
    return Calling(callback)
