"""Where trials are trained: in this process and its workers, on one card or on all cores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diffmg.engine.backend import Backend
from diffmg.race.field import Field
from diffmg.race.on_card import Card
from diffmg.race.trial import Outcome, Trial, train

if TYPE_CHECKING:
    from diffmg.race.workers import Workers


Collect = Callable[[], list[Outcome]]
"""Waits for the outcomes of trials that were begun; they are in the order of the trials, whichever end first."""


class Executor(ABC):
    """Trains trials."""

    @abstractmethod
    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:
        """Begin to train all of them, if need be behind those that were begun before."""

    def run(self, field: Field, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them."""
        return self.begin(field, trials)()

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that was started."""


class Local(Executor):
    """On this machine: a card trains many at once; every core of the CPU trains one at a time, with one thread.

    The outcome of a trial does not depend on the number of cores.
    """

    def __init__(self) -> None:
        self.workers: Workers | None = None
        self.card: Card | None = None

    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:
        """Begin to train all of them; on a card or a single core they are trained when they are collected."""
        if Backend.of(field.problem.graph).accelerated:
            if self.card is None or self.card.field is not field:
                self.card = Card(field)
            return partial(self.card.run, trials)
        cores = torch.get_num_threads()
        if cores == 1:
            return partial(run_here, field, trials)
        from diffmg.race.workers import Workers

        if self.workers is None or self.workers.field is not field:
            self.close()
            self.workers = Workers(field, cores)
        return self.workers.begin(trials)

    def close(self) -> None:
        """Stop the workers, free the card's memory."""
        self.card = None
        if self.workers is not None:
            self.workers.close()
            self.workers = None


def run_here(field: Field, trials: Sequence[Trial]) -> list[Outcome]:
    """One after another, with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            return [train(field.on(trial.fold), trial) for trial in trials]
    finally:
        torch.set_num_threads(threads)
