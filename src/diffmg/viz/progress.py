"""Progress in a terminal: a bar for each job, a spinner for work between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from diffmg.core.run import shown
from diffmg.core.steps import listening
from diffmg.core.text import printable
from diffmg.viz.time_left import Left, TimeLeft, kind_of

if TYPE_CHECKING:
    from diffmg.training.job import Epoch, Job


BESIDE = "beside"
"""The kind of phases that train another method, to compare with."""


class Spinner:
    """Shows the latest step and how long it has taken so far; nothing where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress: Progress | None = None

    def say(self, words: str) -> None:
        """Show another step."""
        self.stop()
        if self.console.is_terminal and not self.console.quiet:
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self.progress = Progress(*columns, console=self.console, transient=True)
            self.progress.add_task(printable(words), total=None)
            self.progress.start()

    def stop(self) -> None:
        """Show nothing."""
        if self.progress is not None:
            self.progress.stop()
            self.progress = None


@contextmanager
def spinning(console: Console) -> Iterator[None]:
    """Show the steps of what is done in between."""
    spinner = Spinner(console)
    try:
        with listening(spinner.say):
            yield
    finally:
        spinner.stop()


class ProgressWatch:
    """Shows each job as a bar with the best score so far, and about how long the whole run still takes."""

    def __init__(self, metric: str, sign: int = 1, console: Console | None = None, phases: Sequence[str] = ()) -> None:
        """`sign`: 1 if higher is better; `phases`: those that may come, in order."""
        self.metric, self.sign = metric, sign
        self.console = Console(stderr=True) if console is None else console
        self.time, self.spinner = TimeLeft(phases), Spinner(self.console)
        self.best: dict[str, float] = {}
        """The best score of each kind of phase: one of a search is not that of a training."""
        self.busy = False

    def begin(self, phase: str, job: Job) -> None:
        """A job starts or resumes."""
        self.spinner.stop()
        self.job, self.kind, self.busy = job, kind_of(phase), True
        if self.kind == BESIDE:
            self.best.pop(BESIDE, None)  # each of them is another method
        self.time.begin(phase, job.epoch)
        self.progress = Progress(
            TextColumn("{task.description:<10}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            console=self.console,
        )
        self.progress.start()
        self.bar = self.progress.add_task(phase, total=job.total, completed=job.epoch, text="")

    def epoch(self, record: Epoch) -> None:
        """An epoch ends."""
        self._note(record.val_score)
        words = [f"best validation {self.metric} {shown(self.best.get(self.kind, math.nan))}"]
        if math.isfinite(record.train_loss):
            words.insert(0, f"loss {record.train_loss:.4f}")
        left = self.time.left(record.epoch, self.job.total, self.job.seconds_left())
        if left is not None and not self.job.done:
            words.append(self._in_words(left))
        self.progress.update(self.bar, completed=record.epoch, total=self.job.total, text="  ".join(words))

    def end(self) -> None:
        """A job ends; after early stopping the bar is filled."""
        self.time.end(self.job.epoch)
        if self.job.done:
            self.progress.update(self.bar, total=max(1, self.job.epoch), completed=max(1, self.job.epoch))
        self.progress.stop()
        self.busy = False

    @contextmanager
    def listening(self) -> Iterator[ProgressWatch]:
        """Show the steps between jobs, too."""
        try:
            with listening(lambda words: None if self.busy else self.spinner.say(words)):
                yield self
        finally:
            self.spinner.stop()

    def _note(self, score: float) -> None:
        known = self.best.get(self.kind, math.nan)
        if math.isnan(known) or self.sign * score > self.sign * known:
            self.best[self.kind] = score

    def _in_words(self, left: Left) -> str:
        return f"about {left.seconds:.0f} s left" + ("" if left.whole else f" of this {self.kind}")
