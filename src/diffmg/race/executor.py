"""Where trials are trained: this process, on one card or on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import torch

from diffmg.engine.backend import Backend
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial, train


class Executor(Protocol):
    """Trains trials; outcomes come in the order of the trials, whatever the order they finish in."""

    def run(self, field: Field, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them."""


class Local:
    """In this process: every core of the CPU trains one at a time; a card trains many at once."""

    def run(self, field: Field, trials: Sequence[Trial]) -> list[Outcome]:
        """Train all of them."""
        if Backend.of(field.problem.graph).accelerated:
            from diffmg.race.on_card import run_on_card

            return run_on_card(field, trials)
        return run_on_cores(field, trials)


def run_on_cores(field: Field, trials: Sequence[Trial]) -> list[Outcome]:
    """One training per core, each with one thread: the outcome does not depend on the number of cores."""
    threads = torch.get_num_threads()

    def one(trial: Trial) -> Outcome:
        torch.set_num_threads(1)
        return train(field.on(trial.fold), trial)

    try:
        with ThreadPoolExecutor(min(threads, len(trials)) or 1) as pool:
            return list(pool.map(one, trials))
    finally:
        torch.set_num_threads(threads)
