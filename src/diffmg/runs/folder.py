"""The run folder: results, and job checkpoints while the run is unfinished."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from diffmg.core import DiffmgError, MetaGraph, Run, read_history, read_run
from diffmg.core.files import cannot_write, digest_of, make_folder, write_json, write_text
from diffmg.core.run import HISTORY, RUN, TRIED, metagraphs_to_dict
from diffmg.runs.model import MODEL, Model
from diffmg.runs.tensors import read_tensors, write_tensors
from diffmg.training.job import Epoch, Job

METAGRAPH, CHECKPOINTS, SINGLE = "metagraph.json", "checkpoints", "single.safetensors"


class RunFolder:
    """A `Store` on disk. Results and checkpoints are written atomically."""

    def __init__(self, path: Path, save_every: float = 5.0) -> None:
        """`save_every`: seconds between checkpoints of a job."""
        self.path, self.save_every = path, save_every
        self._saved = time.monotonic()

    @classmethod
    def create(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """Create a new folder; raises if it exists and is not empty."""
        cls.check_free(path)
        make_folder(path)
        return cls(path, save_every)

    @staticmethod
    def check_free(path: Path) -> None:
        """Raise unless `path` is free for a new run."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise DiffmgError(
                f"a run needs a new or empty folder, but got {str(path)!r}, which exists already; "
                "choose another one, replace it with --overwrite, or go on with an unfinished run by `diffmg resume`"
            )

    @classmethod
    def unfinished(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """Open the folder of an unfinished run."""
        run = read_run(path)
        if run.status == "done":
            raise DiffmgError(f"only an unfinished run can go on, but got {str(path)!r}, which is {run.status}")
        return cls(path, save_every)

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
        """Delete the checkpoints."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)

    def load(self, phase: str, job: Job) -> None:
        """Restore the job from its checkpoint, if any; later epochs are removed from the history."""
        path = self._checkpoint(phase)
        if path.exists():
            tensors, numbers = read_tensors(path)
            job.restore(tensors, numbers["numbers"])
            job.epoch, job.seconds = numbers["epoch"], numbers["seconds"]
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
        numbers = {"epoch": job.epoch, "seconds": job.seconds, "numbers": job.numbers()}
        write_tensors(self._checkpoint(phase), job.tensors(), numbers)
        self._saved = time.monotonic()

    def _checkpoint(self, phase: str) -> Path:
        return self.path / CHECKPOINTS / f"{phase}.safetensors"

    def _trim_history(self, phase: str, epoch: int) -> None:
        path = self.path / HISTORY
        if not path.exists():
            return
        records = [r for r in read_history(self.path) if r["phase"] != phase or r["epoch"] <= epoch]
        write_text(path, "".join(json.dumps(r) + "\n" for r in records))
