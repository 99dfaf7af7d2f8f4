"""Optuna's samplers, driven by ask and tell; Optuna is imported only when it is used."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from diffmg.core.errors import DiffmgError

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import Trial

STARTUP = 16
"""Random trials before a sampler uses what it was told: as many as our own proposers wait for."""
SAMPLERS = ("tpe", "cmaes", "random")
Suggest = Callable[["Trial"], Any]
"""From Optuna's trial to a candidate."""


def make_study(sampler: str, seed: int) -> Study:
    """A study that maximises, with one of the samplers."""
    try:
        import optuna
    except ImportError as error:
        raise DiffmgError(
            f"the sampler {sampler!r} needs Optuna, but got {error}; pip install optuna cmaes, or leave it out"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction="maximize", sampler=_sampler(sampler, seed))


def ask_and_tell(
    study: Study, suggest: Suggest, values: Callable[[list[Any]], list[float]], batch: int, most: int
) -> None:
    """Ask for batches of candidates and tell their values, until `most` were asked; a value of -inf is a failure."""
    from optuna.trial import TrialState

    for _ in range(-(-most // batch)):
        trials = [study.ask() for _ in range(batch)]
        for trial, value in zip(trials, values([suggest(t) for t in trials]), strict=True):
            if math.isfinite(value):
                study.tell(trial, value)
            else:
                study.tell(trial, state=TrialState.FAIL)


def _sampler(name: str, seed: int) -> BaseSampler:
    import warnings

    from optuna import samplers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant_liar is marked as experimental
        made: dict[str, Callable[[], BaseSampler]] = {
            "tpe": lambda: samplers.TPESampler(seed=seed, n_startup_trials=STARTUP, constant_liar=True),
            "cmaes": lambda: samplers.CmaEsSampler(seed=seed, n_startup_trials=STARTUP),
            "random": lambda: samplers.RandomSampler(seed=seed),
        }
        return made[name]()
