"""A campaign: many cases in worker processes; one that hangs or dies is counted and replaced."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.case import GOOD, OUTCOMES, Result
from fuzz.inputs import INPUTS, generator
from fuzz.running import SECONDS, run_case

PATIENCE = 6 * SECONDS
"""Seconds after which a worker that could not stop itself is ended."""
Job = tuple[str, int]


@dataclass(frozen=True)
class Done:
    """A case that ran, by input and seed."""

    input: str
    seed: int
    result: Result


def jobs(count: int) -> Iterator[Job]:
    """The first so many cases: all inputs in turn."""
    return ((INPUTS[i % len(INPUTS)], i // len(INPUTS)) for i in range(count))


def run_one(name: str, seed: int, folder: Path) -> Result:
    """Run a case; the files of one that fails stay in the folder, with a note on what it is."""
    place = folder / f"{name}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    case = generator(name)(seed)
    result = run_case(case, place / "files")
    if result.outcome in GOOD:
        shutil.rmtree(place, ignore_errors=True)
    else:
        steps = "\n".join(str(step) for step in case.steps)
        told = f"{result.outcome}: {result.detail}\n{case.what}\n{steps}\n"
        (place / "case.txt").write_text(told, encoding="utf-8", errors="backslashreplace")
    return result


def campaign(count: int, folder: Path, workers: int = 2) -> Iterator[Done]:
    """Run the first so many cases, each once, in no fixed order."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting, busy = jobs(count), [_Worker(folder) for _ in range(workers)]
    for worker in busy:
        worker.start(next(waiting, None))
    while any(worker.job for worker in busy):
        ready = wait([w.pipe for w in busy if w.job], timeout=1.0)
        for worker in busy:
            done = worker.finished(worker.pipe in ready)
            if done is not None:
                yield done
                worker.start(next(waiting, None))
    for worker in busy:
        worker.end()


class _Worker:
    """A process that runs one case after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.job: Job | None = None
        self._open()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: Any = context.Process(target=_serve, args=(other, self.folder), daemon=True)
        self.process.start()
        other.close()

    def start(self, job: Job | None) -> None:
        """Begin with a case."""
        self.job, self.since = job, time.monotonic()
        if job is not None:
            self.pipe.send(job)

    def finished(self, ready: bool) -> Done | None:
        """What came of the case, if it is over; a process that died or hangs is replaced."""
        if self.job is None:
            return None
        late = time.monotonic() - self.since > PATIENCE
        try:
            result = self.pipe.recv() if ready else Result("hang", "the process had to be ended") if late else None
        except EOFError:
            result = Result("memory", f"the process died, exit code {self._code()}")
        if result is None:
            return None
        if late or not self.process.is_alive():
            self.end()
            self._open()
        return Done(*self.job, result)

    def _code(self) -> Any:
        self.process.join(5)
        return self.process.exitcode

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, folder: Path) -> None:
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            name, seed = pipe.recv()
        except EOFError:
            return
        pipe.send(run_one(name, seed, folder))


def counts(done: list[Done]) -> dict[str, dict[str, int]]:
    """For each input, how many cases had which outcome."""
    found = {name: dict.fromkeys(OUTCOMES, 0) for name in INPUTS}
    for one in done:
        found[one.input][one.result.outcome] += 1
    return found
