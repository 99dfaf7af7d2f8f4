"""Two processes that write one folder, and folders that may not be written."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from soak.child import Stop, run, start, wait
from soak.trial import Ground
from soak.work import EVERY, Work, begun, check, differences, fit_command, state_of


def two_writers(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """Two fits into one folder: one is refused, the other does not notice."""
    expected, seconds = ground.straight(work)
    folder = ground.folder("two", work, seed)
    first = start(fit_command(work, folder), folder.with_suffix(".one.log"))
    time.sleep(rng.uniform(0, seconds) * rng.choice([0.0, 0.02, 0.8]))
    second = start(fit_command(work, folder), folder.with_suffix(".two.log"))
    ends = [wait(second), wait(first)]
    problems = [end.fault for end in ends if end.fault]
    if sorted(end.code for end in ends) != [0, 2]:
        problems.append(f"exit codes {[end.code for end in ends]}, expected one of 0 and one of 2")
    problems += differences(folder, expected)
    if not problems:
        shutil.rmtree(folder.parent)
    return True, problems


def read_only(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """A folder that may not be written, while nothing or half a run is in it: refused, then gone on with."""
    expected, seconds = ground.straight(work)
    folder = ground.folder("read only", work, seed)
    command: Sequence[object] = begun(work, folder, expected)
    if rng.random() < 0.7 and work.stopped != "report":
        run(command, folder.with_suffix(".log"), [Stop(rng.uniform(0, seconds))])
        command = ("resume", folder, *EVERY) if state_of(folder) in ("running", "interrupted") else command
    before = _files(folder.parent)
    log = ground.place / "read_only.log"
    log.unlink(missing_ok=True)
    ground.place.chmod(0o777)
    _writable(folder.parent, False)
    try:
        ended = run(command, log, prepare=_as_nobody)
    finally:
        _writable(folder.parent, True)
    problems = [ended.fault] if ended.fault else []
    problems += [] if ended.code == 2 else [f"exit code {ended.code} in a folder that is read-only: {ended.err[-200:]}"]
    problems += [] if _files(folder.parent) == before else ["a refused command changed files"]
    problems = problems or check(work, folder, expected)
    if not problems:
        shutil.rmtree(folder.parent)
    return True, problems


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*")) if p.suffix != ".log"}


def _writable(folder: Path, wanted: bool) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o755 if wanted else 0o555) if path.is_dir() else (0o644 if wanted else 0o444))


def _as_nobody() -> None:
    """The administrator may write everywhere: become somebody else."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
