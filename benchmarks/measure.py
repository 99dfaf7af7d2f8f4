"""Measuring: seconds per epoch in alternating blocks, peak memory, the machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from diffmg.engine.device import describe_device
from diffmg.runs.provenance import versions
from diffmg.tasks.problem import Problem
from diffmg.training import Job

PROCESS = Path("/proc/self")
RESET_PEAK = "5"
"""The value that, written to `clear_refs` on Linux, resets a process's peak memory."""


class Runner(Protocol):
    """Something that runs epoch by epoch."""

    def prepare(self, epochs: int) -> None:
        """Prepare this many epochs; not timed."""

    def run(self, epochs: int) -> int:
        """Run this many epochs; returns the number actually run."""


class JobRunner:
    """Runs a job of this package; when it ends, the next one starts with the next seed."""

    def __init__(self, start: Callable[[int], Job], seed: int, warm_up: int) -> None:
        self.start, self.seed, self.warm_up = start, seed, warm_up
        self.job: Job | None = None

    def prepare(self, epochs: int) -> None:
        """Provide a job with this many epochs left: a warm one, or a new one if jobs are too short."""
        if self.job is not None and self._left >= epochs:
            return
        self.job = self._next()
        advance_to(self.job, min(self.warm_up, self.job.total))
        if self._left < epochs:
            self.job = self._next()

    def run(self, epochs: int) -> int:
        """Run this many epochs: fewer at the end of the job, more if the job runs several at once."""
        assert self.job is not None
        first = self.job.epoch
        advance_to(self.job, min(first + epochs, self.job.total))
        return self.job.epoch - first

    @property
    def _left(self) -> int:
        return 0 if self.job is None else self.job.total - self.job.epoch

    def _next(self) -> Job:
        self.seed += 1
        return self.start(self.seed - 1)


class Block(NamedTuple):
    """A timed block of epochs."""

    seconds: float
    epochs: int


def advance_to(job: Job, goal: int) -> None:
    """Advance a job to an epoch, or slightly further if it runs several at once."""
    while job.epoch < goal:
        job.advance()


def timed(work: Callable[[], int], device: torch.device) -> Block:
    """Time `work`, which returns the number of epochs it ran."""
    synchronise(device)
    start = time.perf_counter()
    epochs = work()
    synchronise(device)
    return Block(time.perf_counter() - start, epochs)


def alternate(runners: Sequence[Runner], epochs: int, block: int, device: torch.device) -> list[list[Block]]:
    """Time this many epochs of each runner in alternating blocks, so that other load affects all equally."""
    blocks: list[list[Block]] = [[] for _ in runners]
    for size in [block] * (epochs // block) + [epochs % block] * bool(epochs % block):
        for runner, found in zip(runners, blocks, strict=True):
            runner.prepare(size)
            found.append(timed(partial(runner.run, size), device))
    return blocks


def summary(blocks: Sequence[Block]) -> dict[str, float | int]:
    """Seconds per epoch: median and quartiles over the blocks, and the number of epochs."""
    seconds = [b.seconds / b.epochs for b in blocks]
    low, high = np.quantile(seconds, [0.25, 0.75]).tolist()
    return {"median": median(seconds), "low": low, "high": high, "epochs": sum(b.epochs for b in blocks)}


def synchronise(device: torch.device) -> None:
    """Synchronize with the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(start: Callable[[], Runner], device: torch.device) -> int | None:
    """Peak memory while a runner is built, warmed up and run; None where it cannot be measured.

    On a GPU all tensors on it, the network included; on the host what the process holds beyond what it held before.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        _first_epochs(start())
        return torch.cuda.max_memory_allocated(device)
    with contextlib.suppress(OSError, AttributeError):  # give freed memory back, where the C library can
        ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS") if _reset_peak() else None
    _first_epochs(start())
    peak = _status("VmHWM")
    return None if before is None or peak is None else max(0, peak - before)


def _first_epochs(runner: Runner) -> None:
    runner.prepare(1)
    runner.run(1)


def _reset_peak() -> bool:
    """Reset the process's peak memory to its current value, where the system allows it."""
    try:
        (PROCESS / "clear_refs").write_text(RESET_PEAK)
    except OSError:
        return False
    return True


def machine(device: torch.device) -> dict[str, Any]:
    """The machine and the software the figures depend on."""
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_bytes": _memory(),
        "load_before": round(os.getloadavg()[0], 2),
        "device": describe_device(device),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
    }


def report(what: str, command: str, where: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """A result file: what was measured, by which command, where, with which versions."""
    return {"what": what, "command": command, "machine": where, "versions": versions(), "results": results}


def size_of(problem: Problem) -> dict[str, int]:
    """Nodes and edges of a network."""
    graph = problem.graph
    return {"nodes": sum(graph.num_nodes.values()), "edges": sum(a.nnz for a in graph.adjacency.values())}


def _status(name: str) -> int | None:
    """A figure of this process's memory, in bytes."""
    text = _field(PROCESS / "status", name)
    return None if text is None else 1024 * int(text.split()[0])


def _field(path: Path, name: str) -> str | None:
    """The first value called `name` in a file of lines `name: value`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next(
        (value.strip() for key, _, value in (line.partition(":") for line in lines) if key.strip() == name), None
    )


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
