"""Fetches a file over HTTP: what broke off is continued, and only what has the right hash is kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import FileIO
from pathlib import Path
from typing import Literal
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.files import cannot_write
from experiments.data.digest import file_digest

CHUNK = 1 << 16
LIMIT = 1 << 28
"""Most bytes of a file whose size is not known."""
AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which another try may help."""
PARTIAL, NOT_SATISFIABLE = 206, 416

Watch = Callable[[int, int | None], object]
"""Told the bytes that are there and, where it is known, how many there will be."""


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for."""

    timeout: float = 30.0
    """Seconds without a byte."""
    tries: int = 5
    pause: float = 1.0
    """Seconds before the second try; twice as long before each further one."""


@dataclass(frozen=True)
class Remote:
    """A file elsewhere, and what it must be."""

    address: str
    sha256: str
    size: int | None = None


def address_of(base: str, *parts: str) -> str:
    """An address under a base; blanks and the like are escaped."""
    split = urlsplit(base)
    if split.scheme not in ("http", "https") or not split.netloc:
        raise DiffmgError(f"a base address must start with http:// or https:// and a host, but got {base!r}")
    return "/".join([base.rstrip("/"), *(quote(part) for part in parts)])


def fetch(remote: Remote, path: Path, patience: Patience, watch: Watch) -> None:
    """Have `remote` at `path`; what came so far stays beside it as `.part` when it fails."""
    if path.is_file() and file_digest(path) == remote.sha256:
        return
    part = path.with_name(f"{path.name}.part")
    problem: Exception | None = None
    for number in range(patience.tries):
        if number:
            time.sleep(patience.pause * 2 ** (number - 1))
        try:
            resumed = _transfer(remote, part, patience.timeout, watch)
        except (OSError, HTTPException) as error:
            problem = _judged(error, remote, part)
            continue
        if _accepted(remote, part, path, resumed):
            return
    raise MissingDataError(
        f"could not fetch {remote.address!r} in {patience.tries} tries: {problem or 'its parts do not fit together'}; "
        "try again later, which goes on where this stopped, or name a mirror with --base"
    )


def _judged(error: Exception, remote: Remote, part: Path) -> Exception:
    """The error, if another try may help; else raise."""
    if isinstance(error, HTTPError):
        error.close()
        if error.code == NOT_SATISFIABLE:
            _remove(part)
        elif error.code not in AGAIN:
            raise MissingDataError(
                f"the file {remote.address!r} must be there, but got the answer {error.code} {error.reason}; "
                "name a mirror with --base"
            ) from error
    return error


def _accepted(remote: Remote, part: Path, path: Path, resumed: bool) -> bool:
    """Put a whole file in place; one put together of two answers that do not fit is dropped, to start anew."""
    found = file_digest(part)
    try:
        if found == remote.sha256:
            part.replace(path)
            return True
        part.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error
    if resumed:
        return False
    raise DiffmgError(
        f"the file {remote.address!r} must have the sha256 {remote.sha256}, but got {found}: "
        "it was altered; it was not kept"
    )


def _transfer(remote: Remote, part: Path, timeout: float, watch: Watch) -> bool:
    """Append what is missing to `part`; True if something was there before."""
    have = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "diffmg"} | ({"Range": f"bytes={have}-"} if have else {})
    with urlopen(Request(remote.address, headers=headers), timeout=timeout) as answer:
        have = _start_of(answer, have, part)
        length = answer.headers.get("Content-Length") or ""
        total = have + int(length) if length.isdecimal() else remote.size
        done = _store(answer, part, have, total, remote.size or LIMIT, watch)
    if total is not None and done < total:
        raise ConnectionError(f"the answer broke off after {done} of {total} bytes")
    return have > 0


def _start_of(answer: HTTPResponse, have: int, part: Path) -> int:
    """The byte an answer starts with: where we stopped, or 0 from a server that knows no ranges."""
    if answer.status != PARTIAL:
        return 0
    given = answer.headers.get("Content-Range") or ""
    start = re.match(r"bytes (\d+)-", given)
    if start is None or int(start[1]) != have:
        _remove(part)
        raise ConnectionError(f"the answer must go on at byte {have}, but got {given!r}")
    return have


def _store(answer: HTTPResponse, part: Path, have: int, total: int | None, limit: int, watch: Watch) -> int:
    """Write an answer behind the first `have` bytes; returns how many there are then."""
    done = have
    with _opened(part, "ab" if have else "wb") as stream:
        while chunk := answer.read1(CHUNK):
            done += len(chunk)
            if done > limit:
                _remove(part)
                raise DiffmgError(f"{part.stem!r} must have {limit} bytes or less, but got more; it was not kept")
            _write(stream, chunk, part)
            watch(done, total)
    return done


def _opened(part: Path, mode: Literal["ab", "wb"]) -> FileIO:
    try:
        return part.open(mode, buffering=0)
    except OSError as error:
        raise cannot_write(part, error) from error


def _write(stream: FileIO, chunk: bytes, part: Path) -> None:
    """Write all of a chunk; unlike those of the network, errors of the disk are final."""
    view = memoryview(chunk)
    try:
        while view:
            view = view[stream.write(view) :]
    except OSError as error:
        raise cannot_write(part, error) from error


def _remove(part: Path) -> None:
    with suppress(OSError):
        part.unlink(missing_ok=True)
