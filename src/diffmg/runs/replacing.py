"""Writing a run where another one is: the old one is set aside, and comes back if the new one fails."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain, count
from pathlib import Path

from diffmg.core import DiffmgError
from diffmg.core.errors import WriteError
from diffmg.core.files import cannot_write, sync
from diffmg.core.run import RUN
from diffmg.runs.lock import LOCK, is_taken, locked


def check_replaceable(path: Path) -> None:
    """Raise unless `path` is free or a run folder: nothing else is ever deleted."""
    if is_taken(path) and not (path / RUN).is_file():
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
    if not is_taken(path):
        yield
        return
    with locked(path):
        aside = _moved(path, _free_name(path))
    with suppress(OSError):
        (aside / LOCK).unlink()
    try:
        yield
    except KeyboardInterrupt:
        tell(f"the earlier run is kept in {aside}")
        raise
    except BaseException:
        if _is_written(path):
            tell(f"the earlier run is kept in {aside}")
            raise
        shutil.rmtree(path, ignore_errors=True)
        _moved(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _is_written(path: Path) -> bool:
    """Whether another process writes a run there."""
    try:
        with nullcontext() if not path.exists() else locked(path):
            return False
    except WriteError:
        return False
    except DiffmgError:
        return True


def _free_name(path: Path) -> Path:
    """The first of `NAME.old`, `NAME.old-2`, ... that is not there."""
    path = path.resolve()
    names = chain([f"{path.name}.old"], (f"{path.name}.old-{number}" for number in count(2)))
    return next(free for free in map(path.with_name, names) if not free.exists())


def _moved(path: Path, to: Path) -> Path:
    try:
        moved = path.rename(to)
        sync(to.parent)
        return moved
    except OSError as error:
        raise cannot_write(path, error) from error
