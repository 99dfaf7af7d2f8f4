"""Really training meta graphs and candidates, for tables and studies: validation scores only."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path

from diffmg.core.candidate import Candidate
from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.settings import Settings
from diffmg.engine.device import resolve_device
from diffmg.methods.given import Given
from diffmg.race.executor import Executor, Local
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial
from diffmg.runs.sources import open_problem, published_for
from diffmg.tasks.problem import Problem

MetaGraphs = tuple[MetaGraph, ...]


def opened(data: str, device: str, root: Path | None) -> Problem:
    """A data set by name, on its device."""
    return open_problem(data, root=root).to(resolve_device(device))


def published_settings(data: str) -> Settings:
    """The settings that the authors published for a data set; the defaults where there are none."""
    published = published_for(data)
    return Settings() if published is None else Settings(**published.train)


def train_metagraphs(
    problem: Problem, several: Sequence[MetaGraphs], settings: Settings, seed: int, executor: Executor | None = None
) -> list[Outcome]:
    """Outcomes of meta graphs, all trained from one seed with the same settings."""
    candidates = [Candidate(Given(metagraphs), settings) for metagraphs in several]
    return train_candidates(Field(problem), candidates, seed, executor)


def train_candidates(
    field: Field, candidates: Sequence[Candidate], seed: int, executor: Executor | None = None, fold: int = 0
) -> list[Outcome]:
    """Outcomes of candidates, all trained from one seed, on the task's own split or on a fold."""
    used: Executor = executor or Local()
    try:
        return used.run(field, [Trial(candidate, seed, fold) for candidate in candidates])
    finally:
        if executor is None:
            used.close()


def number(score: float, digits: int = 5) -> float | None:
    """A rounded score, ready for JSON; None if it is not a number."""
    return round(score, digits) if math.isfinite(score) else None


def run_command(run: Callable[[Sequence[str]], str], arguments: Sequence[str]) -> int:
    """Print what a command says; returns the exit code, as that of the other commands."""
    try:
        print(run(arguments))
    except DiffmgError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, MissingDataError) else 2
    return 0


def note(words: str) -> None:
    """Say what is being done, beside the result."""
    print(words, file=sys.stderr, flush=True)


def add_places(parser: ArgumentParser, out: Path) -> None:
    """The options that every command has: device, data folder, output folder."""
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-root", type=Path, help="where the data lie")
    parser.add_argument("--out", type=Path, default=out, help="folder of the results; what is done there is kept")
