"""Power that fails at a random moment: of what was not synced, anything may be lost."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest import mock

from soak.child import Stop, run
from soak.trial import Ground
from soak.work import Work, begun, check, state_of

Entries = dict[str, int]
"""Names in a folder, with the numbers of what they name."""


def power_lost(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """The power fails in the middle, or just after the command has ended: then all must be there."""
    expected, seconds = ground.straight(work)
    folder = ground.folder("power", work, seed)
    command, log = begun(work, folder, expected), ground.place / f"power-{work.name}-{seed}.synced"
    at_end = rng.random() < 0.2
    stops = [] if at_end else [Stop(rng.uniform(0, 1.2 * seconds))]
    ended = run(command, ground.place / "power.log", stops, lambda: record(folder.parent, log))
    lost = ground.folder("after power", work, seed)
    shutil.rmtree(lost.parent)
    rebuild(folder.parent, lost.parent, Synced.read(log), rng)
    problems = [ended.fault] if ended.fault else []
    if ended.code == 0 and state_of(lost) not in ("done", "left over"):
        problems.append(f"a run that was done is {state_of(lost)!r} after a power cut")
    problems = problems or check(work, lost, expected)
    if not problems:
        for path in (folder.parent, lost.parent):
            shutil.rmtree(path)
        log.unlink()
    return True, problems


def record(root: Path, log: Path) -> None:
    """From now on, write down what is synced under a folder; all that is there counts as synced."""
    handle, sync = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), os.fsync
    kept: list[int] = []

    def note(descriptor: int) -> None:
        kept.append(os.dup(descriptor))  # its number is given to no other file
        os.write(handle, (json.dumps(_seen(kept[-1])) + "\n").encode())

    def noted(descriptor: int) -> None:
        sync(descriptor)
        note(descriptor)

    for path in (root, *root.rglob("*")):
        note(os.open(path, os.O_RDONLY))
    mock.patch("os.fsync", noted).start()


def _seen(descriptor: int) -> tuple[int, object]:
    """The number of a file and its bytes as text, or that of a folder and its entries."""
    about = os.fstat(descriptor)
    path = Path(f"/proc/self/fd/{descriptor}")
    if stat.S_ISDIR(about.st_mode):
        return about.st_ino, {entry.name: entry.inode() for entry in os.scandir(path)}
    return about.st_ino, base64.b64encode(path.read_bytes()).decode()


@dataclass(frozen=True)
class Synced:
    """Files and folders as they were when they were last synced, by number."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, Entries] = field(default_factory=dict)

    @classmethod
    def read(cls, log: Path) -> Synced:
        """Read what `record` wrote; a line that was cut off tells of nothing."""
        found = cls()
        for line in log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else []:
            number, what = json.loads(line)
            if isinstance(what, dict):
                found.folders[number] = what
            else:
                found.files[number] = base64.b64decode(what)
        return found


def rebuild(now: Path, to: Path, synced: Synced, rng: Random) -> None:
    """Write a folder as it may be after a power cut."""
    there = {path.stat().st_ino: path for path in (now, *now.rglob("*"))}
    _rebuild_folder(now.stat().st_ino, to, synced, there, rng)


def _rebuild_folder(number: int, to: Path, synced: Synced, there: dict[int, Path], rng: Random) -> None:
    to.mkdir()
    old = synced.folders.get(number, {})
    new = {entry.name: entry.inode() for entry in os.scandir(there[number])} if number in there else old
    careful = rng.random() < 0.5
    for name in sorted({*old, *new}):
        found = old.get(name) if careful or rng.random() < 0.5 else new.get(name)
        if found is None:
            continue
        if found in synced.folders or (found in there and there[found].is_dir()):
            _rebuild_folder(found, to / name, synced, there, rng)
        else:
            (to / name).write_bytes(_bytes(found, synced, there, rng))


def _bytes(number: int, synced: Synced, there: dict[int, Path], rng: Random) -> bytes:
    """What was synced, perhaps with a part of what was written since, or with zeros in its place."""
    old = synced.files.get(number, b"")
    new = there[number].read_bytes() if number in there else old
    if not new.startswith(old):
        return rng.choice([old, new])
    part = rng.randint(len(old), len(new))
    return rng.choice([old, new[:part], old + bytes(part - len(old))])
