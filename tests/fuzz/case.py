"""A case: files, and what is done with them in their folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "refused", "unclear", "traceback", "hang", "memory", "silent wrong"]
OUTCOMES: tuple[Outcome, ...] = ("ok", "refused", "unclear", "traceback", "hang", "memory", "silent wrong")
GOOD: tuple[Outcome, ...] = ("ok", "refused")


@dataclass(frozen=True)
class Answer:
    """What a step did: the exit code of a command, and what it wrote."""

    code: int
    out: str = ""
    err: str = ""
    terminal: bool = False
    """Whether it was written to a terminal, where it may look different."""


Step = tuple[str, ...] | Callable[[], None]
"""Arguments of `diffmg`, or a function; both run in the folder of the case."""
Oracle = Callable[[Sequence[Answer]], Iterable[str]]
"""Complaints about the answers to all steps that ran; called in the folder of the case."""


@dataclass(frozen=True)
class Case:
    """Steps run in turn until one is refused; then the oracle looks at everything."""

    what: str
    """What is odd about it, in words."""
    files: Mapping[str, bytes]
    steps: tuple[Step, ...]
    oracle: Oracle | None = None
    terminal: bool = False
    """Whether the commands write to a terminal."""


@dataclass(frozen=True)
class Result:
    """What came of a case."""

    outcome: Outcome
    detail: str = ""
    seconds: float = 0.0


def all_done(answers: Sequence[Answer]) -> bool:
    """Whether no step was refused."""
    return all(answer.code == 0 for answer in answers)
