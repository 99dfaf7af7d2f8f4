"""How sure a run's test score is. Reads test labels, like `scores_on`: once per run, after all selection is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from diffmg.core import Run
from diffmg.core.details import Certainty, Details
from diffmg.race.evidence import chance_of
from diffmg.tasks.problem import Problem
from diffmg.tasks.resampling import Resampled


@dataclass(frozen=True)
class Judged:
    """The test answers of a model, judged."""

    certainty: Certainty
    details: Details | None
    resampled: Resampled | None
    """The score on resamples, to compare other models with."""


def judged(problem: Problem, outputs: tuple[Tensor, ...], score: float | None) -> Judged | None:
    """Judge test answers with this score; None without a test part."""
    if score is None or not problem.task.size("test"):
        return None
    found = problem.task.resampled(outputs, "test")
    details = problem.task.details(outputs, "test", problem.graph)
    return Judged(_certainty(problem, outputs, score, found), details, found)


def with_judgement(run: Run, found: Judged | None) -> Run:
    """The run with what was found, if anything."""
    return run if found is None else replace(run, certainty=found.certainty, details=found.details)


def _certainty(problem: Problem, outputs: tuple[Tensor, ...], score: float, found: Resampled | None) -> Certainty:
    task = problem.task
    chance, above = chance_of(task.to("cpu"), task.votes(outputs, "test").detach().cpu(), score)
    units, of = (task.size("test"), "example") if found is None else (found.units, found.of)
    number = 0 if found is None else len(found.scores)
    error = None if found is None else found.error
    return Certainty(error, units, of, number, chance, task.blind_words, above)
