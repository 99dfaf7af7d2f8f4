"""Reads files out of zip archives that may be anybody's."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath, PureWindowsPath

from diffmg.core.errors import DiffmgError

LIMIT = 1 << 30
"""Bytes of an unpacked archive; the largest of the known ones is below a fifth of it."""


def read_members(path: Path, wanted: Collection[str], limit: int = LIMIT) -> dict[str, bytes]:
    """The wanted files of an archive by name, whatever folder they are in; nothing is unpacked to the disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = _choose(path, archive.infolist(), wanted, limit)
            return {name: _read(archive, info) for name, info in found.items()}
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise DiffmgError(f"an archive must be a whole zip file, but got {str(path)!r}: {error}") from error


def _choose(
    path: Path, members: list[zipfile.ZipInfo], wanted: Collection[str], limit: int
) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    for info in members:
        if _escapes(info):
            raise DiffmgError(f"files in an archive must stay in their folder, but got {info.filename!r} in {path}")
        name = PurePosixPath(info.filename).name
        if name in wanted and not info.is_dir():
            if name in found:
                raise DiffmgError(f"a file must be in an archive once, but got {name!r} twice in {path}")
            found[name] = info
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise DiffmgError(f"the archive {path} must hold {missing}, but got {[m.filename for m in members][:20]}")
    size = sum(info.file_size for info in found.values())
    if size > limit:
        raise DiffmgError(f"an archive must unpack to {limit} bytes or less, but got {size} in {path}")
    return found


def _escapes(info: zipfile.ZipInfo) -> bool:
    name = info.filename.replace("\\", "/")
    absolute = name.startswith("/") or bool(PureWindowsPath(name).drive)
    return absolute or ".." in PurePosixPath(name).parts or stat.S_ISLNK(info.external_attr >> 16)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        data = stream.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise DiffmgError(
            f"{info.filename!r} must have {info.file_size} bytes as its archive says, but got {len(data)}"
        )
    return data
