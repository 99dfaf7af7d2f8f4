"""How long a whole run still takes, from its phases so far and the pace of the present one."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SOON = 1.0
"""Seconds of a phase before its pace is trusted."""


@dataclass(frozen=True)
class Left:
    """An estimate of the seconds left."""

    seconds: float
    whole: bool
    """Of the whole run; else of the present phase, since nothing is known of what comes after."""


def kind_of(phase: str) -> str:
    """Phases of one kind take about as long: repeats are trainings."""
    kind = phase.partition("-")[0]
    return "train" if kind == "repeat" else kind


class TimeLeft:
    """Learns from each phase how long others of its kind will take."""

    def __init__(self, phases: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """`phases` are those that may come, in order; some may be left out by the run."""
        self.clock, self.waiting = clock, list(phases)
        self.taken: dict[str, list[float]] = {}
        self.phase, self.first, self.started = "", 0, 0.0

    def begin(self, phase: str, epoch: int) -> None:
        """A phase begins, or goes on after this many epochs."""
        if phase in self.waiting:
            place = self.waiting.index(phase)
            never = {kind_of(p) for p in self.waiting[:place]} - set(self.taken)
            self.waiting = [p for p in self.waiting[place + 1 :] if kind_of(p) not in never - {kind_of(phase)}]
        self.phase, self.first, self.started = phase, epoch, self.clock()

    def left(self, epoch: int, total: int, known: float | None = None) -> Left | None:
        """The time left after an epoch; `known` is what the job itself says. None where it is too soon to say."""
        elapsed, done = self.clock() - self.started, epoch - self.first
        if known is None and (elapsed < SOON or done < 1):
            return None
        present = known if known is not None else elapsed / done * max(0, total - epoch)
        typical = {kind: statistics.fmean(seconds) for kind, seconds in self.taken.items()}
        typical.setdefault(kind_of(self.phase), elapsed + present)
        later = [typical.get(kind_of(phase)) for phase in self.waiting]
        told = [seconds for seconds in later if seconds is not None]
        return Left(present + sum(told), True) if len(told) == len(later) else Left(present, False)

    def end(self, epoch: int) -> None:
        """The phase ends; one that went on from a checkpoint says nothing of how long others take."""
        seconds = self.taken.setdefault(kind_of(self.phase), [])
        if not self.first and epoch:
            seconds.append(self.clock() - self.started)
        if not seconds:
            del self.taken[kind_of(self.phase)]
