"""Running tasks one by one, or several at a time in separate processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch

from diffmg.core.errors import DiffmgError
from diffmg.training import Quiet, Watch

MakeWatch = Callable[[str], Watch]
"""Makes the progress callbacks of a job, given its metric."""


@dataclass(frozen=True)
class Task:
    """A task for this process or another: a module-level function with its arguments."""

    name: str
    work: Callable[[MakeWatch], Any]


def do_all(tasks: Sequence[Task], jobs: int, watch: Callable[[str, str], Watch]) -> Iterator[tuple[str, Any]]:
    """Run tasks, several at a time; yields the name and result of each when it is done. `watch` is for a single job."""
    return _one_by_one(tasks, watch) if jobs == 1 else _side_by_side(tasks, jobs)


def _one_by_one(tasks: Sequence[Task], watch: Callable[[str, str], Watch]) -> Iterator[tuple[str, Any]]:
    """Run in this process; the first failure ends it."""
    for task in tasks:
        yield task.name, task.work(partial(watch, task.name))


def _side_by_side(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[str, Any]]:
    """Run in separate processes; one that fails leaves the others."""
    failed: dict[str, BaseException] = {}
    pool = _pool(jobs)
    try:
        running = {pool.submit(task.work, _quietly): task for task in tasks}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, error = running.pop(future), future.exception()
                if error is None:
                    yield task.name, future.result()
                else:
                    failed[task.name] = error
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, what has not begun is left
    if failed:
        reasons = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise DiffmgError(f"the others are done and kept, but {len(failed)} failed: {reasons}")


def _pool(jobs: int) -> Executor:
    return ProcessPoolExecutor(jobs, get_context("spawn"), initializer=share_cores, initargs=(jobs,))


def share_cores(jobs: int) -> None:
    """Give each process its share of the cores."""
    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))


def _quietly(_metric: str) -> Watch:
    return Quiet()
