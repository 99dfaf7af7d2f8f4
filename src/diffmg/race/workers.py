"""Worker processes of this machine: one for every core, forked, so that they share the problem's memory."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial, packed, train, unpacked

TRIES = 2
"""How often a trial is given to a worker that dies of it, before it counts as failed."""


def can_fork() -> bool:
    """Whether processes can be forked here: threads share one interpreter and get in each other's way."""
    return "fork" in multiprocessing.get_all_start_methods()


class Workers:
    """Processes that train trials of one field, each with one thread, until they are closed."""

    def __init__(self, field: Field, count: int) -> None:
        self.field, self.count = field, count
        self.running: dict[Connection, BaseProcess] = {}

    def run(self, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them; outcomes in the order of the trials."""
        while len(self.running) < min(self.count, len(trials)):
            self._start()
        waiting = list(range(len(trials)))[::-1]
        tries = [0] * len(trials)
        busy: dict[Connection, int] = {}
        finished: dict[int, Outcome] = {}
        while waiting or busy:
            for idle in [pipe for pipe in self.running if pipe not in busy][: len(waiting)]:
                busy[idle] = waiting.pop()
                idle.send(trials[busy[idle]])
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                number = busy.pop(pipe)
                outcome = self._receive(pipe)
                if outcome is not None:
                    finished[number] = outcome
                    continue
                tries[number] += 1
                if tries[number] < TRIES:
                    waiting.append(number)
                else:
                    finished[number] = Outcome(error="its process died, perhaps for want of memory")
        return [finished[number] for number in range(len(trials))]

    def _start(self) -> None:
        """Fork a worker."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self.field), daemon=True)
        process.start()
        theirs.close()
        self.running[ours] = process

    def _receive(self, pipe: Connection) -> Outcome | None:
        """What a worker sends; None if it died, and then there is another one in its place."""
        try:
            return unpacked(pipe.recv())
        except (EOFError, OSError):
            self.running.pop(pipe).join(timeout=1)
            self._start()
            return None

    def close(self) -> None:
        """Stop all workers, whatever they are doing."""
        for pipe, process in self.running.items():
            process.kill()
            process.join(timeout=1)
            pipe.close()
        self.running = {}


def _work(pipe: Connection, field: Field) -> None:
    """The life of a worker; Ctrl-C is for its parent, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    while True:
        try:
            trial = pipe.recv()
        except EOFError:
            return
        pipe.send(packed(train(field.on(trial.fold), trial)))
