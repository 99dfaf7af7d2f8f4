"""Hashes of files, and of what is packed in them."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from diffmg.core.errors import DiffmgError
from diffmg.datasets._base import read_npz


def file_digest(path: Path) -> str:
    """Sha256 of a file as it lies on the disk."""
    with path.open("rb") as stream:
        return _digest(stream)


def content_digest(path: Path) -> str:
    """Sha256 of what is packed: the text of `.gz`, the arrays of `.npz` whatever their order in memory."""
    if path.suffix == ".npz":
        return _arrays_digest(path)
    try:
        with gzip.open(path) as stream:
            return _digest(stream)
    except (OSError, EOFError, zlib.error) as error:
        raise DiffmgError(f"a text file must be packed by gzip, but got {str(path)!r}: {error}") from error


def _digest(stream: IO[bytes] | gzip.GzipFile) -> str:
    found = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        found.update(chunk)
    return found.hexdigest()


def _arrays_digest(path: Path) -> str:
    found = hashlib.sha256()
    for key, array in sorted(read_npz(path).items()):
        little = np.asarray(array, array.dtype.newbyteorder("<"))
        found.update(f"{key} {little.dtype.str} {little.shape}\n".encode())
        found.update(little.tobytes())
    return found.hexdigest()
