"""Writing a run where another one is: the old one is set aside, and comes back if the new one fails."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

from diffmg.core import DiffmgError
from diffmg.core.files import cannot_write
from diffmg.core.run import RUN
from diffmg.runs.lock import LOCK, locked


def check_replaceable(path: Path) -> None:
    """Raise unless `path` is free or a run folder: nothing else is ever deleted."""
    if _is_taken(path) and not (path / RUN).is_file():
        raise DiffmgError(
            f"only a run folder, which has a {RUN}, is written over, but got {str(path)!r}, which has none; "
            "choose another folder"
        )


@contextmanager
def replacing(path: Path, tell: Callable[[str], object] = lambda _: None) -> Iterator[None]:
    """Set the run in `path`, if any, aside as `NAME.old` until the new one is done; raises while it is being written.

    If the new one fails, what it wrote is deleted and the old one comes back. A new run that was interrupted can go on,
    so it stays, and so does the old one beside it: `tell` says where.
    """
    check_replaceable(path)
    if not _is_taken(path):
        yield
        return
    aside = _set_aside(path)
    try:
        yield
    except KeyboardInterrupt:
        tell(f"the earlier run is kept in {aside}")
        raise
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        _moved(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _is_taken(path: Path) -> bool:
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def _set_aside(path: Path) -> Path:
    with locked(path):
        aside = _moved(path, _free_name(path))
        (aside / LOCK).unlink(missing_ok=True)
    return aside


def _free_name(path: Path) -> Path:
    """The first of `NAME.old`, `NAME.old-2`, ... that is not there."""
    path = path.resolve()
    names = chain([f"{path.name}.old"], (f"{path.name}.old-{number}" for number in count(2)))
    return next(free for free in map(path.with_name, names) if not free.exists())


def _moved(path: Path, to: Path) -> Path:
    try:
        return path.rename(to)
    except OSError as error:
        raise cannot_write(path, error) from error
