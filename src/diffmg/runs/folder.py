"""The folder of a run: results for people, and the states of jobs while it goes on."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.files import cannot_write, make_folder, write_atomically, write_json
from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import HISTORY, RUN, Run, metagraphs_to_dict, read_history, read_run
from diffmg.training.job import Epoch, Job

METAGRAPH, MODEL, CHECKPOINTS = "metagraph.json", "model.safetensors", "checkpoints"


class RunFolder:
    """A `Store` on disk. Whatever happens, each file in it is whole."""

    def __init__(self, path: Path, save_every: float = 5.0) -> None:
        """`save_every`: seconds between two saved states of a job."""
        self.path, self.save_every = path, save_every
        self._saved = time.monotonic()

    @classmethod
    def create(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """A new folder; one that exists and is not empty raises."""
        cls.check_free(path)
        make_folder(path)
        return cls(path, save_every)

    @staticmethod
    def check_free(path: Path) -> None:
        """Raise unless a run may be written to `path`."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise DiffmgError(
                f"a run needs a new or empty folder, but got {str(path)!r}, which exists already; "
                "choose another one, or go on with an unfinished run by `diffmg resume`"
            )

    @classmethod
    def unfinished(cls, path: Path, save_every: float = 5.0) -> RunFolder:
        """The folder of a run that was stopped."""
        run = read_run(path)
        if run.status == "done":
            raise DiffmgError(f"only an unfinished run can go on, but got {str(path)!r}, which is {run.status}")
        return cls(path, save_every)

    def write_run(self, run: Run) -> None:
        """Write `run.json`."""
        write_json(self.path / RUN, run.to_dict())

    def write_metagraphs(self, metagraphs: Sequence[MetaGraph]) -> None:
        """Write `metagraph.json`."""
        write_json(self.path / METAGRAPH, metagraphs_to_dict(metagraphs))

    def write_model(self, tensors: Mapping[str, Tensor]) -> None:
        """Write `model.safetensors`."""
        write_tensors(self.path / MODEL, tensors, {})

    def read_model(self) -> dict[str, Tensor]:
        """The parameters in `model.safetensors`."""
        return read_tensors(self.path / MODEL)[0]

    def finish(self) -> None:
        """Drop the states of jobs."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)

    def load(self, phase: str, job: Job) -> None:
        """Restore the job if a state of this phase was kept; epochs after it are taken out of the history."""
        path = self._checkpoint(phase)
        if path.exists():
            tensors, numbers = read_tensors(path)
            job.restore(tensors, numbers["numbers"])
            job.epoch, job.seconds = numbers["epoch"], numbers["seconds"]
        self._trim_history(phase, job.epoch)

    def log(self, phase: str, record: Epoch) -> None:
        """Append a line to the history."""
        path = self.path / HISTORY
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"phase": phase, **asdict(record)}) + "\n")
        except OSError as error:
            raise cannot_write(path, error) from error

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        """Keep the job's state if `force` or if the last time is long ago."""
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
        kept = [r for r in read_history(self.path) if r["phase"] != phase or r["epoch"] <= epoch]
        text = "".join(json.dumps(r) + "\n" for r in kept)
        write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))


def write_tensors(path: Path, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
    """Write tensors and plain values into one file, atomically."""
    whole = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}

    def write(target: Path) -> None:
        try:
            save_file(whole, target, metadata={"numbers": json.dumps(numbers)})
        except SafetensorError as error:
            raise OSError(str(error)) from error

    write_atomically(path, write)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            numbers = json.loads((file.metadata() or {}).get("numbers", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, numbers  # noqa: SIM118
    except (OSError, SafetensorError, json.JSONDecodeError) as error:
        raise DiffmgError(f"a file of tensors must be whole, but got {str(path)!r}: {error}") from error
