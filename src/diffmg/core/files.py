"""Atomic file writes, and file errors that say what to do."""

import contextlib
import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from diffmg.core.errors import DiffmgError, WriteError
from diffmg.core.parse import check_size


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it into place; symbolic links are followed.

    The file is synced before the rename and its folder after it, so a power cut leaves the old file or the new one.
    """
    temporary: Path | None = None
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            write(target)
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        write(temporary)
        temporary.chmod(0o644)
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def is_temporary(name: str) -> bool:
    """Whether a file is one that `write_atomically` was filling, by its name; a killed process leaves it behind."""
    return re.fullmatch(r"\..+\.[a-z0-9_]{8}", name) is not None


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk itself before anything that follows."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot sync a folder
            raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))


def write_json(path: Path, data: object) -> None:
    """Write indented JSON atomically."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def read_text(path: Path, what: str, errors: str = "strict") -> str:
    """Read a text file; `what` names it in the error, `errors` says what is done with bytes that are not UTF-8."""
    try:
        check_size(path.stat().st_size, f"{what} {str(path)!r}")
        return path.read_text(encoding="utf-8", errors=errors)
    except FileNotFoundError as error:
        raise DiffmgError(f"{what} must exist, but got no file at {str(path)!r}") from error
    except UnicodeDecodeError as error:
        raise DiffmgError(f"{what} must be text in UTF-8, but got {str(path)!r}, which is not: {error}") from error
    except OSError as error:
        raise DiffmgError(f"{what} must be a file that can be read, but got {str(path)!r}: {error.strerror}") from error


def digest_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path) -> None:
    """Create a folder and its parents, and sync their names."""
    try:
        missing = [p for p in (path, *path.parents) if not p.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync(made.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> WriteError:
    """The error for a full disk or a path without write permission."""
    return WriteError(
        f"could not write {str(path)!r}: {error.strerror or error}; free some space, or choose a place you may write to"
    )


def check_unchanged(path: Path, expected: str) -> None:
    """Raise unless a file of a run is as the run wrote it."""
    if digest_of(path) != expected:
        raise DiffmgError(
            f"a file of a run must be as the run wrote it (sha256 {expected[:16]}...), but got {str(path)!r} with "
            f"{digest_of(path)[:16]}...; it was changed or damaged: fit again, or `diffmg repeat` the run"
        )


def is_file_name(name: str) -> bool:
    """Whether a name of a table is that of a file, by its ending."""
    return re.search(r"\.(csv|tsv|txt|parquet)(\.gz|\.bz2|\.zst)?$", name.lower()) is not None
