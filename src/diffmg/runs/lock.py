"""The lock of a run folder: one writer at a time. It goes with its process, however that ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from diffmg.core import DiffmgError
from diffmg.core.files import cannot_write, is_temporary

LOCK = ".lock"
"""A file in the folder while a run is written; left behind by a killed process, it locks nothing."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises, naming the holder, if another process has it."""
    path = folder / LOCK
    handle = _acquired(path)
    try:
        _sign(handle, path)
        yield
    finally:
        _remove(path, handle)
        os.close(handle)


def _remove(path: Path, handle: int) -> None:
    """Delete the lock, unless the folder was moved away and another one has its name now."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(handle)):
            path.unlink()


def is_taken(folder: Path) -> bool:
    """Whether there is anything at this place but what a process that was killed before it began leaves behind."""
    try:
        if not folder.is_dir():
            return folder.exists()
        return any(path.name != LOCK and not is_temporary(path.name) for path in folder.iterdir())
    except OSError as error:
        raise cannot_write(folder, error) from error


def _sign(handle: int, path: Path) -> None:
    """Write who holds the lock."""
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
    except OSError as error:
        raise cannot_write(path, error) from error


def _acquired(path: Path) -> int:
    """An open, locked file; one that its last holder has just removed is opened anew."""
    while True:
        handle = _opened(path)
        try:
            _lock(handle, path)
            if os.fstat(handle).st_nlink:
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        raise cannot_write(path, error) from error


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(handle, 200, 0).decode(errors="replace") or "another process"
        raise DiffmgError(
            f"a run folder is written by one process at a time, but got {str(path.parent)!r}, which {holder} is "
            "writing; wait for it, or choose another folder"
        ) from error
    except OSError as error:
        raise cannot_write(path, error) from error
