"""A run without a folder: what it would write is kept in memory, to be written later or never."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from diffmg.core import MetaGraph, Run, read_history
from diffmg.core.files import check_unchanged, read_text
from diffmg.core.parse import parse_json
from diffmg.core.run import LOSSES, TRIED
from diffmg.runs.folder import SINGLE, RunFolder
from diffmg.runs.model import Model
from diffmg.tasks.problem import Problem
from diffmg.training.job import Epoch, Job


class InMemory(RunFolder):
    """What a run would write into its folder beside the model, kept in memory; without checkpoints."""

    def __init__(self) -> None:
        self.single: Model | None = None
        self.tried: tuple[Mapping[str, Any], ...] = ()
        self.history: list[tuple[str, Epoch]] = []

    @classmethod
    def read(cls, path: Path, run: Run, problem: Problem | None) -> Self:
        """What the folder of a run holds."""
        kept = cls()
        single, tried = (_unchanged(path / name, run) for name in (SINGLE, TRIED))
        if single is not None:
            kept.single = Model.load(single, problem)
        if tried is not None:
            lines = read_text(tried, "the candidates of a race").splitlines()
            kept.tried = tuple(parse_json(line, f"a line of {str(tried)!r}") for line in lines)
        for record in read_history(path):
            losses = (record.get(name) for name in LOSSES)
            kept.log(record["phase"], Epoch(record["epoch"], *(math.nan if v is None else v for v in losses)))
        return kept

    def begin(self, run: Run) -> None:
        """There is nothing to write."""

    def write(
        self,
        run: Run,
        metagraphs: Sequence[MetaGraph] = (),  # noqa: ARG002
        model: Model | None = None,  # noqa: ARG002
        *,
        single: Model | None = None,
        tried: Sequence[Mapping[str, Any]] = (),
    ) -> Run:
        """Keep what `run` does not return."""
        self.single, self.tried = single, tuple(tried)
        return run

    @contextmanager
    def writing(self) -> Iterator[None]:
        """There is nothing to lock."""
        yield

    def log(self, phase: str, record: Epoch) -> None:
        """Keep an epoch."""
        self.history.append((phase, record))

    def load(self, phase: str, job: Job) -> None:
        """There is no checkpoint."""

    def save(self, phase: str, job: Job, *, force: bool) -> None:
        """There is no checkpoint."""

    def finish(self) -> None:
        """There is nothing to delete."""


def _unchanged(file: Path, run: Run) -> Path | None:
    """A file of a run folder, None if it is not there; raises unless it is as the run wrote it."""
    if not file.exists():
        return None
    check_unchanged(file, run.files.get(file.name, ""))
    return file
