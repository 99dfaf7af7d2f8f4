"""Trials on a card: meta graphs many at once, as one program; anything else several at once, each on its own stream.

What only the CPU can do is done beside that, by threads.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from diffmg.race.field import Field
from diffmg.race.trial import FAILURES, Outcome, Trial, failure, outcome_of, start, train
from diffmg.training.batched import BatchedTrainer, Trained, batchable
from diffmg.training.batched import Trial as BatchedTrial
from diffmg.training.fitted import AnyTraining
from diffmg.training.parallel import side_by_side

ENOUGH = 6
"""Trials from which on one program pays."""
THREADS = 2
"""For what the CPU does beside the card."""


class Card:
    """Trains trials of one field on its card, and keeps the programs of its batches."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.trainers: dict[int, BatchedTrainer] = {}

    def run(self, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them; outcomes in the order of the trials."""
        numbered = dict(enumerate(trials))
        with ThreadPoolExecutor(THREADS) as threads:
            beside = {
                n: threads.submit(train, self.field.on(t.fold), t)
                for n, t in numbered.items()
                if t.candidate.method.on_host
            }
            found = self._on_card({n: t for n, t in numbered.items() if n not in beside})
            found |= {n: future.result() for n, future in beside.items()}
        return [found[n] for n in numbered]

    def _on_card(self, trials: dict[int, Trial]) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        for fold in sorted({trial.fold for trial in trials.values()}):
            together = {n: t for n, t in trials.items() if t.fold == fold and self._fits(t)}
            if len(together) >= ENOUGH:
                found |= self._batch(fold, together)
        return found | _alone(self.field, {n: trial for n, trial in trials.items() if n not in found})

    def _fits(self, trial: Trial) -> bool:
        """Whether a trial can be part of a batch."""
        return bool(trial.candidate.metagraphs) and batchable(self.field.problem, trial.settings)

    def _batch(self, fold: int, trials: dict[int, Trial]) -> dict[int, Outcome]:
        """Outcomes of a batch; none if it failed, and its trials are then trained one by one."""
        try:
            return self._together(fold, trials)
        except FAILURES as error:
            self.trainers.pop(fold, None)
            reason = failure(error).error
            warnings.warn(f"{len(trials)} trainings are not one program, they run more slowly: {reason}", stacklevel=2)
            return {}

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


def _alone(field: Field, trials: dict[int, Trial]) -> dict[int, Outcome]:
    """Each on its own stream."""
    ended = side_by_side(partial(_Started, field, trial) for trial in trials.values())
    return {number: started.outcome for number, started in zip(trials, ended, strict=True)}


class _Started:
    """A trial that is under way; an error is its outcome, and its training is dropped at the end."""

    def __init__(self, field: Field, trial: Trial) -> None:
        self.problem = field.on(trial.fold)
        self.training: AnyTraining | None = None
        self.outcome = Outcome()
        with self._failing():
            self.training, self.metagraphs = start(self.problem, trial)

    @property
    def done(self) -> bool:
        """Whether it has its outcome."""
        return self.training is None

    def launch(self) -> None:
        """Start the next epochs."""
        with self._failing():
            if self.training is not None:
                self.training.launch()

    def advance(self) -> None:
        """Go on; the outcome at the end."""
        with self._failing():
            if self.training is not None:
                self.training.advance()
                if self.training.done:
                    self._end(outcome_of(self.problem, self.training, self.metagraphs))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            self._end(failure(error))

    def _end(self, outcome: Outcome) -> None:
        self.outcome, self.training = outcome, None
