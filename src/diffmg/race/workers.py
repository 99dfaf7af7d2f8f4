"""Worker processes of this machine: one for every core, started by joblib's loky.

Threads would share one interpreter and get in each other's way; forked processes hang where numeric libraries have
already used threads.
"""

from __future__ import annotations

import math
import os
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Any

import torch
from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]
from joblib.externals.loky.process_executor import BrokenProcessPool  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diffmg.core import Method
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial, packed, train, unpacked

Together = Callable[[], list[Outcome | None]]

_FIELD: list[Field] = []
"""In a worker: what its trials are trained on."""


class Workers:
    """Processes that train trials of one field, each with one thread, until they are closed."""

    def __init__(self, field: Field, count: int) -> None:
        self.field, self.count = field, count
        self.pool: Any = None
        self.seconds: dict[type[Method], float] = {}
        """Of the last training of each method."""

    def begin(self, trials: Sequence[Trial]) -> Callable[[], list[Outcome]]:
        """Begin to train all of them; what is returned waits for the outcomes, in the order of the trials.

        Where a process dies, every trial that was under way is tried again by itself, to find the one it died of.
        """
        return partial(self._outcomes, trials, self._together(trials))

    def _outcomes(self, trials: Sequence[Trial], together: Together) -> list[Outcome]:
        outcomes = together()
        lost = [n for n, outcome in enumerate(outcomes) if outcome is None]
        again = {n: self._together([trials[n]])()[0] for n in lost}
        dead = Outcome(error="its process died, perhaps for want of memory")
        return [again.get(n, dead) or dead if outcome is None else outcome for n, outcome in enumerate(outcomes)]

    def _together(self, trials: Sequence[Trial]) -> Together:
        """Begin to train all of them; None for those that were under way when a process died."""
        if self.pool is None:
            # a worker that has grown is replaced by a fresh one, which is as it should be
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
            self.pool = ProcessPoolExecutor(self.count, initializer=_begin, initargs=(self.field,))
        pool = self.pool
        try:
            started = {n: pool.submit(_train, trials[n]) for n in self._longest_first(trials)}
        except BrokenProcessPool:  # of trials that were begun before
            self.close()
            return self._together(trials)

        def collect() -> list[Outcome | None]:
            found = [self._found(trial, started[n]) for n, trial in enumerate(trials)]
            if None in found and self.pool is pool:
                self.close()
            return found

        return collect

    def _found(self, trial: Trial, started: Future[tuple[Outcome, float]]) -> Outcome | None:
        try:
            outcome, self.seconds[type(trial.candidate.method)] = started.result()
        except BrokenProcessPool:
            return None
        return unpacked(outcome)

    def _longest_first(self, trials: Sequence[Trial]) -> list[int]:
        """The order in which trials are begun, so that no worker waits long for the last one of another.

        Methods that are new come first. What comes of a trial does not depend on it.
        """
        return sorted(range(len(trials)), key=lambda n: -self.seconds.get(type(trials[n].candidate.method), math.inf))

    def close(self) -> None:
        """Stop all workers, whatever they are doing."""
        if self.pool is not None:
            self.pool.shutdown(wait=False, kill_workers=True)
            self.pool = None


def _begin(field: Field) -> None:
    """A worker starts; Ctrl-C is for its parent, which ends it, and it does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)
    _FIELD[:] = [field]


def _end_with(parent: int) -> None:
    """Leave when the parent is gone: one that was killed cannot stop its workers."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _train(trial: Trial) -> tuple[Outcome, float]:
    """The outcome of a trial, and how many seconds it took."""
    begun = time.perf_counter()
    outcome = packed(train(_FIELD[0].on(trial.fold), trial))
    return outcome, time.perf_counter() - begun
