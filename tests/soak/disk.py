"""A disk that is full at a random point: a file system in memory that is too small, then large enough."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from soak.child import run
from soak.trial import Ground
from soak.work import Work, begun, check

REMOUNT, DETACH, PAGE = 32, 2, 4096


def disk_full(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """The disk is full until there is a message; then some space is freed."""
    expected, _ = ground.straight(work)
    place = ground.folder("disk", work, seed).parent
    most = 2 * sum(path.stat().st_size for path in expected.iterdir())
    with small_disk(place, PAGE * rng.randint(1, most // PAGE)) as grow:
        folder = place / "run"
        if work.stopped == "report":
            grow(2**25)
        command = begun(work, folder, expected)
        if work.stopped == "report":
            _fill(place, rng)
        ended = run(command, ground.place / "disk.log")
        (place / "filler").unlink(missing_ok=True)
        grow(2**25)
        problems = [ended.fault] if ended.fault else _unclear(ended.err, ended.code) + check(work, folder, expected)
    if not problems:
        shutil.rmtree(place)
    return ended.code != 0, problems


def _unclear(words: str, code: int) -> list[str]:
    told = code == 0 or "could not write" in words
    return [] if told else [f"a message that does not name the cause: {words[-300:]}"]


def _fill(place: Path, rng: Random) -> None:
    """Leave a few pages."""
    free = os.statvfs(place).f_bavail * PAGE
    (place / "filler").write_bytes(bytes(max(0, free - PAGE * rng.randint(0, 8))))


def can_mount(place: Path) -> bool:
    """Whether a file system of a given size can be made here."""
    place.mkdir(parents=True, exist_ok=True)
    with suppress(OSError), small_disk(place, PAGE):
        return True
    return False


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Callable[[int], None]]:
    """A file system of so many bytes at a place while the context lasts; yields a function that changes its size."""
    _mount(place, 0, size)
    try:
        yield lambda size: _mount(place, REMOUNT, size)
    finally:
        _libc().umount2(str(place).encode(), DETACH)


def _mount(place: Path, flags: int, size: int) -> None:
    if not hasattr(_libc(), "mount"):
        raise OSError("no such call here")
    if _libc().mount(b"tmpfs", str(place).encode(), b"tmpfs", flags, f"size={size}".encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
