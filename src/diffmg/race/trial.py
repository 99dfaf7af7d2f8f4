"""One training of a candidate, and what came out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from diffmg.core import DiffmgError, MetaGraph, Settings, derive_seed
from diffmg.core.candidate import Candidate
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import AnyTraining, training_of
from diffmg.training.job import Quiet, drive
from diffmg.training.training import outputs_of

LEAST_EPOCHS = 5
MOST_VOTES = 2**21
"""Numbers of the votes that are kept with a model."""

FAILURES = (DiffmgError, RuntimeError, ValueError, MemoryError, ArithmeticError)
"""What makes a trial fail; anything else is a fault of the program."""


@dataclass(frozen=True)
class Trial:
    """A candidate to be trained once, on the task's own split or on one of its folds."""

    candidate: Candidate
    seed: int
    fold: int = 0
    """0 for the task's own split, else the number of the fold, from 1."""
    epochs: int | None = None
    """Most epochs; None for as many as the candidate's settings say."""
    seconds: float | None = None
    """Stop after the epoch in which this time is over; None to train to the end."""

    @property
    def settings(self) -> Settings:
        """The candidate's settings, with its epochs limited."""
        settings = self.candidate.settings
        return settings if self.epochs is None else replace(settings, max_epochs=min(settings.max_epochs, self.epochs))


@dataclass(frozen=True)
class Outcome:
    """What came of a trial; without a model if it failed."""

    score: float = math.nan
    """The selection metric on validation."""
    val_loss: float = math.nan
    epochs: int = 0
    best_epoch: int = 0
    metagraphs: tuple[MetaGraph, ...] = ()
    error: str = ""
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    """The state of the network's best epoch, on the host."""
    votes: Tensor | None = None
    """Votes on the validation part, on the host."""
    cut: bool = False
    """Whether its time was over before it came to its end."""

    @property
    def failed(self) -> bool:
        """Whether it has no score."""
        return not math.isfinite(self.score)


def train(problem: Problem, trial: Trial) -> Outcome:
    """Carry a trial out, from its search (if its method has one) to the votes of its best epoch."""
    try:
        training, found = start(problem, trial)
        begun = time.perf_counter()
        while not training.done and not _over(trial, training, begun):
            training.advance()
        return outcome_of(problem, training, found)
    except FAILURES as error:
        return failure(error)


def start(problem: Problem, trial: Trial) -> tuple[AnyTraining, tuple[MetaGraph, ...]]:
    """The training of a trial, and the meta graphs its method found."""
    method, settings = trial.candidate.method, trial.settings
    method.check(problem, settings)
    search = method.search(problem, settings, derive_seed(trial.seed, "search"))
    drive("search", search, Quiet())
    found = search.found()
    network = method.network(problem, settings, trial.seed, found)
    return training_of(problem, network, settings, trial.seed), found


def _over(trial: Trial, training: AnyTraining, begun: float) -> bool:
    late = trial.seconds is not None and time.perf_counter() - begun > trial.seconds
    return late and training.epoch >= LEAST_EPOCHS


def packed(outcome: Outcome) -> Outcome:
    """The outcome with arrays in place of tensors, for a pipe between processes."""
    votes = None if outcome.votes is None else outcome.votes.numpy()
    weights: dict[str, Any] = {name: t.numpy() for name, t in outcome.weights.items()}
    return replace(outcome, weights=weights, votes=votes)  # type: ignore[arg-type]


def unpacked(outcome: Outcome) -> Outcome:
    """What `packed` made, with tensors again."""
    votes = None if outcome.votes is None else torch.from_numpy(outcome.votes)
    weights = {name: torch.from_numpy(a) for name, a in outcome.weights.items()}
    return replace(outcome, weights=weights, votes=votes)


def failure(error: BaseException) -> Outcome:
    """The outcome of a trial that raised."""
    memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
    first = (str(error).splitlines() or [""])[0][:200]
    return Outcome(error="out of memory" if memory else f"{type(error).__name__}: {first}")


def _light(votes: Tensor) -> Tensor | None:
    """Votes, unless they are so many that they are better computed again where an ensemble considers the model."""
    return votes if votes.numel() <= MOST_VOTES else None


def outcome_of(problem: Problem, training: AnyTraining, metagraphs: tuple[MetaGraph, ...]) -> Outcome:
    """The outcome of a finished training."""
    if not training.best:
        return Outcome(epochs=training.epoch, metagraphs=metagraphs, error="no epoch had a validation score")
    model = training.best_model()
    outputs = outputs_of(model, problem)
    loss, score = (float(x) for x in problem.task.evaluate(outputs, "val"))
    return Outcome(
        score,
        loss,
        training.epoch,
        training.best_epoch,
        metagraphs,
        "" if math.isfinite(score) else "the validation score is not a number",
        {name: t.detach().cpu().clone() for name, t in model.state_dict().items()},
        _light(problem.task.votes(outputs, "val").detach().cpu()),
        not training.done,
    )
