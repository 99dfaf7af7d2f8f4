"""The runs in a folder. Only folders that lie in it are read, and only by a name that its listing has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from diffmg.core import DiffmgError, Run, read_run
from diffmg.core.run import RUN
from diffmg.core.text import shortened
from diffmg.serve.refused import RefusedError


@dataclass(frozen=True)
class Shelved:
    """A folder that may be a run: the run, or why it is none."""

    name: str
    path: Path
    when: datetime | None = None
    """When its `run.json` was written last."""
    run: Run | None = None
    reason: str = ""


class Shelf:
    """Runs by the name of their folder. A run is read again when its file has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._read: dict[str, tuple[tuple[int, int], Shelved]] = {}

    def all(self) -> list[Shelved]:
        """Every folder in it, the newest run first, broken ones last."""
        found = [self._look(path) for path in self._folders()]
        return sorted(found, key=lambda one: (one.run is None, -one.when.timestamp() if one.when else 0.0, one.name))

    def find(self, name: str) -> Shelved:
        """The run of this name; refuses any other."""
        path = next((path for path in self._folders() if path.name == name), None)
        if path is None:
            raise RefusedError(404, f"a run must be in the folder, but got {shortened(name, 100)!r}")
        found = self._look(path)
        if found.run is None:
            raise RefusedError(409, f"a run must be readable to be shown, but got {name!r}: {found.reason}")
        return found

    def _folders(self) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
        except OSError as error:
            raise RefusedError(404, f"the folder must be readable, but got: {error.strerror}") from error

    def _look(self, path: Path) -> Shelved:
        if not path.resolve().is_relative_to(self.folder):
            return Shelved(path.name, path, reason="it is a link that leads out of the folder")
        try:
            file = (path / RUN).resolve()
            stat = file.stat()
        except (OSError, RuntimeError):
            return Shelved(path.name, path, reason="it has no run.json")
        if not file.is_relative_to(self.folder):
            return Shelved(path.name, path, reason="its run.json is a link that leads out of the folder")
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._read.get(path.name)
        if known is None or known[0] != stamp:
            known = stamp, _read(path, datetime.fromtimestamp(stat.st_mtime, UTC))
            self._read[path.name] = known
        return known[1]


def _read(path: Path, when: datetime) -> Shelved:
    try:
        return Shelved(path.name, path, when, read_run(path))
    except DiffmgError as error:
        return Shelved(path.name, path, when, reason=str(error))
