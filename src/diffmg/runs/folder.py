"""The run folder: results, and job checkpoints while the run is unfinished."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from diffmg.core import DiffmgError, MetaGraph, Run, read_history, read_run
from diffmg.core.codec import to_plain
from diffmg.core.files import cannot_write, digest_of, is_temporary, make_folder, sync, write_json, write_text
from diffmg.core.parse import Kinds, checked_fields
from diffmg.core.run import HISTORY, RUN, TRIED, metagraphs_to_dict
from diffmg.runs.lock import is_taken, locked
from diffmg.runs.model import MODEL, Model
from diffmg.runs.tensors import read_tensors, write_tensors
from diffmg.training.job import Epoch, Job

METAGRAPH, CHECKPOINTS, SINGLE = "metagraph.json", "checkpoints", "single.safetensors"
CHECKPOINT: dict[str, Kinds] = {"of": str, "epoch": int, "seconds": (int, float), "numbers": dict}
"""What a checkpoint holds beside its tensors; `of` is the identity of the run."""


class RunFolder:
    """A `Store` on disk. Results and checkpoints are written atomically."""

    def __init__(self, path: Path, save_every: float = 5.0) -> None:
        """`save_every`: seconds between checkpoints of a job."""
        self.path, self.save_every = path, save_every
        self._saved = time.monotonic()
        self._is_new = False
        self._identity = ""

    @classmethod
    def create(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """Create a new folder; raises if it exists and is not empty."""
        cls.check_free(path)
        make_folder(path)
        folder = cls(path, save_every)
        folder._is_new = True
        return folder

    @staticmethod
    def check_free(path: Path) -> None:
        """Raise unless `path` is free for a new run."""
        if is_taken(path):
            raise DiffmgError(
                f"a run needs a new or empty folder, but got {str(path)!r}, which exists already; "
                "choose another one, replace it with --overwrite, or go on with an unfinished run by `diffmg resume`"
            )

    @classmethod
    def unfinished(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """Open the folder of an unfinished run."""
        cls.check_unfinished(path)
        return cls(path, save_every)

    @staticmethod
    def check_unfinished(path: Path) -> None:
        """Raise if the run of a folder is done."""
        run = read_run(path)
        if run.status == "done":
            raise DiffmgError(f"only an unfinished run can go on, but got {str(path)!r}, which is {run.status}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder's lock; raises if another process has it, or had it and wrote a run meanwhile."""
        with locked(self.path):
            if self._is_new:
                self.check_free(self.path)
            elif (self.path / RUN).exists():
                self.check_unfinished(self.path)
            self._is_new = False
            self._clear_temporaries()
            yield

    @staticmethod
    def has_leftovers(path: Path) -> bool:
        """Whether the run of a folder is done, but was stopped before its checkpoints were deleted."""
        return read_run(path).status == "done" and (path / CHECKPOINTS).exists()

    def begin(self, run: Run) -> None:
        """Write the run that begins; what a stopped run left stays until more is known."""
        self._identity = identity_of(run)
        if not (self.path / RUN).exists():
            self.write(run)

    def write(
        self,
        run: Run,
        metagraphs: Sequence[MetaGraph] = (),
        model: Model | None = None,
        *,
        single: Model | None = None,
        tried: Sequence[Mapping[str, Any]] = (),
    ) -> Run:
        """Write a run's files, `run.json` last with the checksums of the others; returns the run with checksums.

        `single` and `tried`: of a race, its best single model and the candidates it tried.
        """
        self._identity = identity_of(run)
        files: dict[str, str] = {}
        if metagraphs:
            write_json(self.path / METAGRAPH, metagraphs_to_dict(metagraphs))
            files[METAGRAPH] = digest_of(self.path / METAGRAPH)
        if model is not None:
            files[MODEL] = model.save(self.path / MODEL)
        if single is not None:
            files[SINGLE] = single.save(self.path / SINGLE)
        if tried:
            write_text(self.path / TRIED, "".join(json.dumps(line) + "\n" for line in tried))
            files[TRIED] = digest_of(self.path / TRIED)
        run = replace(run, files=files)
        write_json(self.path / RUN, run.to_dict())
        return run

    def finish(self) -> None:
        """Delete the checkpoints, and what a killed process was writing."""
        self._clear_temporaries()
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)

    def load(self, phase: str, job: Job) -> None:
        """Restore the job from its checkpoint, if any; later epochs are removed from the history."""
        path = self._checkpoint(phase)
        if path.exists():
            tensors, values = read_tensors(path)
            checked_fields(values, CHECKPOINT, f"the checkpoint {str(path)!r}")
            self._check_identity(path, values["of"])
            try:
                job.restore(tensors, values["numbers"])
            except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
                raise DiffmgError(
                    f"a checkpoint must hold the state of its job, but got {str(path)!r} without: {error!r}; "
                    "was it written by another version? Delete it to do this phase again"
                ) from error
            job.epoch, job.seconds = values["epoch"], values["seconds"]
        self._trim_history(phase, job.epoch)

    def log(self, phase: str, record: Epoch) -> None:
        """Append an epoch to the history."""
        path = self.path / HISTORY
        try:
            with path.open("a", encoding="utf-8") as file:
                values = {name: v if math.isfinite(v) else None for name, v in asdict(record).items()}
                file.write(json.dumps({"phase": phase, **values}) + "\n")
        except OSError as error:
            raise cannot_write(path, error) from error

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        """Write a checkpoint if `force`, or if `save_every` seconds have passed since the last one."""
        if not force and time.monotonic() - self._saved < self.save_every:
            return
        make_folder(self.path / CHECKPOINTS)
        self._sync_history()
        values = {"of": self._identity, "epoch": job.epoch, "seconds": job.seconds, "numbers": job.numbers()}
        write_tensors(self._checkpoint(phase), job.tensors(), values)
        self._saved = time.monotonic()

    def _sync_history(self) -> None:
        """A checkpoint is never newer than the history: the epochs before it would be missing."""
        path = self.path / HISTORY
        if path.exists():
            try:
                sync(path)
                sync(self.path)
            except OSError as error:
                raise cannot_write(path, error) from error

    def _clear_temporaries(self) -> None:
        """Delete what a killed process was writing; to be called under the lock."""
        found = [path for folder in (self.path, self.path / CHECKPOINTS) for path in folder.glob(".*")]
        for path in found:
            if is_temporary(path.name):
                with suppress(OSError):
                    path.unlink()

    def _checkpoint(self, phase: str) -> Path:
        return self.path / CHECKPOINTS / f"{phase}.safetensors"

    def _check_identity(self, path: Path, found: str) -> None:
        if found != self._identity:
            raise DiffmgError(
                f"a checkpoint must be of the plan, seed and data of its run (hash {self._identity[:16]!r}), but got "
                f"{str(path)!r} of others ({found[:16]!r}); delete it to do this phase again"
            )

    def _trim_history(self, phase: str, epoch: int) -> None:
        path = self.path / HISTORY
        if not path.exists():
            return
        records = [r for r in read_history(self.path) if r["phase"] != phase or r["epoch"] <= epoch]
        write_text(path, "".join(json.dumps(r) + "\n" for r in records))


def identity_of(run: Run) -> str:
    """A hash of everything that decides the result of a run; where and by which engine it is computed does not."""
    plan = {name: v for name, v in to_plain(run.plan).items() if name not in ("source", "device", "engine")}
    return hashlib.sha256(json.dumps([plan, run.data.hash], sort_keys=True).encode()).hexdigest()
