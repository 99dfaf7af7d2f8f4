"""Training the programs of a table in chunks, each written to a file of its own, so that work can be resumed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from diffmg.core.settings import Settings
from diffmg.race.executor import Executor
from diffmg.runs.provenance import data_of
from diffmg.tasks.problem import Problem
from experiments.exhaustive_programs import Programs
from experiments.jsonl import read_lines, write_lines
from experiments.trained import number, train_metagraphs

CHUNK = 128
"""Programs of a part file."""
TENTH = 10
Line = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """Which programs are trained, and how."""

    problem: Problem
    settings: Settings
    programs: Programs
    numbers: tuple[int, ...]
    """The programs of the table: all, or a sample."""
    seed: int = 0

    @property
    def depth(self) -> int:
        """K, the number of states."""
        return self.programs.spaces[0].depth

    def mark(self) -> str:
        """A hash of everything that decides the scores: part files of other work are never used."""
        about = (data_of(self.problem).hash, self.depth, sorted(asdict(self.settings).items()), self.seed, self.numbers)
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:10]


def best_tenth(lines: Sequence[Line], sign: int) -> list[int]:
    """Numbers of the best tenth by score, at least one, in ascending order."""
    scored = [line for line in lines if line["score"] is not None]
    ranked = sorted(scored, key=lambda line: (-sign * line["score"], line["number"]))
    return sorted(line["number"] for line in ranked[: math.ceil(len(ranked) / TENTH)])


@dataclass
class Parts:
    """Chunks of trainings, a file each."""

    work: Work
    folder: Path
    executor: Executor
    chunk: int
    left: int | None
    say: Callable[[str], None]

    def lines(self, name: str, numbers: Sequence[int], seed: int) -> list[Line] | None:
        """What all trainings came to, in order; None where the limit does not allow it."""
        found: list[Line] = []
        while len(found) < len(numbers):
            path = self.folder / f"{name}-{len(found):06}.jsonl"
            if not path.exists():
                if self.left == 0:
                    return None
                self._write(path, name, numbers, len(found), seed)
            found += read_lines(path)
        return found

    def _write(self, path: Path, name: str, numbers: Sequence[int], start: int, seed: int) -> None:
        some = numbers[start : start + min(self.chunk, self.left or self.chunk)]
        self.left = None if self.left is None else self.left - len(some)
        self.say(f"{name} seed: {start + len(some)} of {len(numbers)} programs")
        write_lines(path, self._train(some, seed))

    def _train(self, numbers: Sequence[int], seed: int) -> Iterator[Line]:
        work = self.work
        several = [work.programs.metagraphs(n) for n in numbers]
        outcomes = train_metagraphs(work.problem, several, work.settings, seed, self.executor)
        for n, outcome in zip(numbers, outcomes, strict=True):
            numbers_of = {"score": number(outcome.score, 6), "loss": number(outcome.val_loss, 6)}
            yield {"number": n, **numbers_of, "best_epoch": outcome.best_epoch}
