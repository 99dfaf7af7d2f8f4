"""A command of `diffmg` in a process of its own, which may be stopped by signals at given moments."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diffmg.cli import main

PATIENCE = 300.0
"""Seconds after which a process that does not end is killed, and counted as one that hangs."""


@dataclass(frozen=True)
class Stop:
    """A signal, and the seconds since the start after which it is sent."""

    after: float
    signal: signal.Signals = signal.SIGKILL


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or the negative number of the signal that ended it."""

    code: int
    seconds: float
    err: str = ""
    hung: bool = False

    @property
    def fault(self) -> str:
        """What no command may do, whatever happens to it; empty where it did not."""
        if self.hung:
            return "did not end"
        if "Traceback" in self.err:
            return f"traceback: {self.err[-300:]}"
        known = (0, 2, 3, 130, -signal.SIGKILL, -signal.SIGINT)
        return "" if self.code in known else f"exit code {self.code}: {self.err[-300:]}"


@dataclass(frozen=True)
class Child:
    """A process that was started and has not been waited for."""

    pid: int
    begun: float
    log: Path


def start(arguments: Sequence[object], log: Path, prepare: Callable[[], object] = lambda: None) -> Child:
    """Run a command in a fork of this process, which has imported everything; `prepare` is called in it first."""
    warm_up()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Child(pid, time.monotonic(), log)
    code = 1
    try:
        _redirect(log)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare()
        sys.argv = ["diffmg", *map(str, arguments)]
        code = _code_of_main()
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(child: Child, stops: Sequence[Stop] = ()) -> Ended:
    """Send the signals at their moments, unless the process has ended before, and wait for its end."""
    for stop in stops:
        found = _reaped(child, stop.after)
        if found is not None:
            return found
        os.kill(child.pid, stop.signal)
    found = _reaped(child, PATIENCE)
    if found is not None:
        return found
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    return Ended(-signal.SIGKILL, PATIENCE, _text(child.log), hung=True)


def run(
    arguments: Sequence[object], log: Path, stops: Sequence[Stop] = (), prepare: Callable[[], object] = lambda: None
) -> Ended:
    """Start a command, stop it as told, wait for its end."""
    return wait(start(arguments, log, prepare), stops)


@cache
def warm_up() -> None:
    """Train once, so that a fork has imported all that it needs."""
    import tempfile

    import torch

    from run_files import TINY, fit

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        fit(Path(folder) / "run", "academic:120", *TINY)


def _code_of_main() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _redirect(log: Path) -> None:
    """Output goes to nowhere, errors to a file, also those written by C."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)


def _reaped(child: Child, until: float) -> Ended | None:
    """How the process ended, if it did so within so many seconds from its start."""
    while True:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        seconds = time.monotonic() - child.begun
        if pid:
            return Ended(os.waitstatus_to_exitcode(status), seconds, _text(child.log))
        if seconds >= until:
            return None
        time.sleep(min(0.002, max(0.0, until - seconds)))


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
