"""Trials on a card: several at once, each on its own stream."""

from __future__ import annotations

from collections.abc import Sequence

from diffmg.core import DiffmgError, MetaGraph, derive_seed
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial, failure, outcome_of
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import AnyTraining, training_of
from diffmg.training.job import Quiet, drive

CONCURRENT = 8
"""Trainings that share a card: one alone does not fill it."""


def run_on_card(field: Field, trials: Sequence[Trial]) -> list[Outcome]:
    """Train all of them; outcomes in the order of the trials."""
    waiting = list(enumerate(trials))[::-1]
    running: dict[int, _Started] = {}
    finished: dict[int, Outcome] = {}
    while waiting or running:
        while waiting and len(running) < CONCURRENT:
            number, trial = waiting.pop()
            try:
                running[number] = _Started(field.on(trial.fold), trial)
            except (DiffmgError, RuntimeError, ValueError, MemoryError) as error:
                finished[number] = failure(error)
        for number, started in list(running.items()):
            try:
                started.training.launch()
            except RuntimeError as error:
                finished[number] = failure(error)
                del running[number]
        for number, started in list(running.items()):
            outcome = started.step()
            if outcome is not None:
                finished[number] = outcome
                del running[number]
    return [finished[number] for number in range(len(trials))]


class _Started:
    """A trial that is under way."""

    def __init__(self, problem: Problem, trial: Trial) -> None:
        self.problem = problem
        method, settings = trial.candidate.method, trial.settings
        method.check(problem, settings)
        search = method.search(problem, settings, derive_seed(trial.seed, "search"))
        drive("search", search, Quiet())
        self.metagraphs: tuple[MetaGraph, ...] = search.found()
        network = method.network(problem, settings, trial.seed, self.metagraphs)
        self.training: AnyTraining = training_of(problem, network, settings, trial.seed)

    def step(self) -> Outcome | None:
        """Go on; the outcome at the end."""
        try:
            if not self.training.done:
                self.training.advance()
            return outcome_of(self.problem, self.training, self.metagraphs) if self.training.done else None
        except (DiffmgError, RuntimeError, ValueError, MemoryError) as error:
            return failure(error)
