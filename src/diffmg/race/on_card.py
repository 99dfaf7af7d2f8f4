"""Trials on a card: meta graphs many at once, as one program; anything else several at once, each on its own stream."""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffmg.core import DiffmgError
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial, failure, outcome_of, start
from diffmg.tasks.problem import Problem
from diffmg.training.batched import BatchedTrainer, Trained, batchable
from diffmg.training.batched import Trial as BatchedTrial

CONCURRENT = 8
"""Trainings that share a card: one alone does not fill it."""
ENOUGH = 6
"""Trials from which on one program pays."""
FAILURES = (DiffmgError, RuntimeError, ValueError, MemoryError)


class Card:
    """Trains trials of one field on its card, and keeps the programs of its batches."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.trainers: dict[int, BatchedTrainer] = {}

    def run(self, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them; outcomes in the order of the trials."""
        found: dict[int, Outcome] = {}
        for fold in sorted({trial.fold for trial in trials}):
            together = [n for n, t in enumerate(trials) if t.fold == fold and self._fits(t)]
            if len(together) >= ENOUGH:
                try:
                    found |= self._together(fold, {n: trials[n] for n in together})
                except RuntimeError:  # for want of memory, perhaps: then one by one
                    self.trainers.pop(fold, None)
        alone = {n: trial for n, trial in enumerate(trials) if n not in found}
        found |= _side_by_side(self.field, alone)
        return [found[n] for n in range(len(trials))]

    def _fits(self, trial: Trial) -> bool:
        """Whether a trial can be part of a batch."""
        return bool(trial.candidate.metagraphs) and batchable(self.field.problem, trial.settings)

    def _together(self, fold: int, trials: dict[int, Trial]) -> dict[int, Outcome]:
        problem = self.field.on(fold)
        trainer = self.trainers.setdefault(fold, BatchedTrainer(problem))
        given = [BatchedTrial(problem.arranged(t.candidate.metagraphs), t.settings, t.seed) for t in trials.values()]
        several = zip(trials, given, trainer.train(given), strict=True)
        return {number: _outcome(batched, trained) for number, batched, trained in several}


def _outcome(trial: BatchedTrial, trained: Trained) -> Outcome:
    """Without votes: they are computed when an ensemble asks for them."""
    score = trained.best_score if trained.weights else math.nan
    error = "" if math.isfinite(score) else "no epoch had a validation score"
    numbers = (score, trained.val_loss, trained.epochs, trained.best_epoch)
    return Outcome(*numbers, tuple(trial.metagraphs), error, trained.weights)


def _side_by_side(field: Field, trials: dict[int, Trial]) -> dict[int, Outcome]:
    """Each on its own stream."""
    waiting = list(trials.items())[::-1]
    running: dict[int, _Started] = {}
    finished: dict[int, Outcome] = {}
    while waiting or running:
        while waiting and len(running) < CONCURRENT:
            number, trial = waiting.pop()
            try:
                running[number] = _Started(field.on(trial.fold), trial)
            except FAILURES as error:
                finished[number] = failure(error)
        for number in list(running):
            try:
                running[number].training.launch()
            except RuntimeError as error:
                finished[number] = failure(error)
                del running[number]
        for number in list(running):
            outcome = running[number].step()
            if outcome is not None:
                finished[number] = outcome
                del running[number]
    return finished


class _Started:
    """A trial that is under way."""

    def __init__(self, problem: Problem, trial: Trial) -> None:
        self.problem = problem
        self.training, self.metagraphs = start(problem, trial)

    def step(self) -> Outcome | None:
        """Go on; the outcome at the end."""
        try:
            if not self.training.done:
                self.training.advance()
            return outcome_of(self.problem, self.training, self.metagraphs) if self.training.done else None
        except FAILURES as error:
            return failure(error)
