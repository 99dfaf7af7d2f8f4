"""Tuning a method's settings on validation, with the same budget for every method."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.plan import Plan
from diffmg.core.run import Candidate
from diffmg.core.seeds import derive_seed
from diffmg.runs.runner import best_candidate
from diffmg.tasks.problem import Problem
from diffmg.training import ModelTraining, Quiet, Watch, drive
from experiments.tables import Sheet
from experiments.tuned import Tuned, Tuning

RATES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
DECAYS = (0.0, 1e-5, 1e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True)
class Trial:
    """Settings, method options, and their mean validation result over trainings."""

    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    value: float
    """The compared value: the validation score, or minus the validation loss, as `select` says."""
    val_score: float
    epochs: int
    """Of all its trainings."""
    trainings: int = 1


class Outcome(NamedTuple):
    """The result of one training."""

    value: float
    score: float
    epochs: int


def tune(problem: Problem, plan: Plan, tuning: Tuning, watch: Watch | None = None) -> list[Trial]:
    """All trials, best first; the first one tried is the unchanged plan. `watch` receives progress callbacks.

    A method searches once, as the plan says: what its searches find is trained, and the best by validation is kept.
    Only the training of that is tuned.
    """
    watch = watch or Quiet()
    metagraphs = _searched(problem, plan, tuning.seed, watch)
    draw = random.Random(derive_seed(tuning.seed, "tuning", plan.method.name))
    tunable = METHODS.get(plan.method.name).tunable
    drawn: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {})]
    drawn += [_drawn(draw, tunable) for _ in range(tuning.budget - 1)]
    start, train = partial(_training, problem, plan, metagraphs, tuning.seed), partial(_train, watch)
    train_all = _all_to_the_end if tuning.how == "random" else _by_halving
    outcomes = train_all((start(0, *each) for each in drawn), train)
    trials = _best_first(Trial(s, o, *one) for (s, o), one in zip(drawn, outcomes, strict=True))
    best, others = trials[: tuning.finalists], trials[tuning.finalists :]
    seeds = range(1, tuning.trainings)
    again = [[train(f"again {n}", start(i, t.settings, t.options)) for i in seeds] for n, t in enumerate(best, 1)]
    return _best_first([*map(_averaged, best, again), *others])


def chosen(trials: Sequence[Trial], plan: Plan, tuning: Tuning, method: str) -> Tuned:
    """The best trial, written out in full, as the tuned settings of `method`."""
    best, base = trials[0], next(trial for trial in trials if not trial.settings)
    settings = {n: asdict(plan.settings)[n] for n in ("lr", "weight_decay", "dropout")} | dict(best.settings)
    scores = best.value, best.val_score, base.val_score
    return Tuned(method, plan.source.name, tuning, plan.settings.select, *scores, settings, best.options)


def trials_sheet(title: str, trials: Sequence[Trial]) -> Sheet:
    """Trials as a table."""
    heads = ("validation", "trainings", "epochs", "settings", "options")
    return Sheet(title, heads, tuple(_cells(trial) for trial in trials))


def _cells(trial: Trial) -> tuple[str, ...]:
    words = (", ".join(f"{k}={v}" for k, v in given.items()) for given in (trial.settings, trial.options))
    return f"{trial.val_score:.4f}", str(trial.trainings), str(trial.epochs), *(w or "as they were" for w in words)


def _best_first(trials: Iterable[Trial]) -> list[Trial]:
    """Most trainings first, then the best value; those with a failed training last."""
    return sorted(trials, key=lambda trial: (trial.value == -math.inf, -trial.trainings, -trial.value))


def _averaged(trial: Trial, again: Sequence[Outcome]) -> Trial:
    """A trial with the results of further trainings."""
    number = 1 + len(again)
    value, score, epochs = (sum(of) for of in zip((trial.value, trial.val_score, trial.epochs), *again, strict=True))
    return replace(trial, value=value / number, val_score=score / number, epochs=epochs, trainings=number)


def _all_to_the_end(jobs: Iterator[ModelTraining], train: Callable[..., Outcome]) -> Iterator[Outcome]:
    """Train one at a time, with one model in memory."""
    return map(train, (f"setting {number}" for number in count(1)), jobs)


def _by_halving(jobs: Iterator[ModelTraining], train: Callable[..., Outcome]) -> Iterator[Outcome]:
    """Successive halving, with all models in memory."""
    every = list(jobs)
    for share, kept in ((0.25, 1.0), (0.5, 0.5), (1.0, 0.25)):
        best = sorted(range(len(every)), key=lambda n: -every[n].best_value)
        for number in {0, *best[: max(1, round(len(every) * kept))]}:
            train(f"setting {number + 1}", every[number], share)
    return map(_outcome, every)


def _train(watch: Watch, phase: str, job: ModelTraining, share: float = 1.0) -> Outcome:
    """Train for a fraction of the epochs, or until early stopping."""
    drive(phase, job, watch, share=share)
    return _outcome(job)


def _outcome(job: ModelTraining) -> Outcome:
    return Outcome(job.best_value, job.best_score, job.epoch)


def _drawn(draw: random.Random, tunable: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = {"lr": draw.choice(RATES), "weight_decay": draw.choice(DECAYS), "dropout": draw.choice(DROPOUTS)}
    return settings, {name: draw.choice(list(values)) for name, values in sorted(tunable.items())}


def _searched(problem: Problem, plan: Plan, seed: int, watch: Watch) -> tuple[MetaGraph, ...]:
    """The search result of a plan; of several, the best on validation after training."""
    method, candidates = plan.method.make(), []
    method.check(problem, plan.settings)
    for number in range(method.searches):
        search = method.search(problem, plan.settings, derive_seed(seed, "search", number))
        if not search.done:
            drive(f"search-{number}", search, watch)
        found, score = search.found(), -math.inf
        if method.searches > 1:
            score = _train(watch, f"train-{number}", _training(problem, plan, found, seed, 0, {}, {})).score
        candidates.append(Candidate(found, score if math.isfinite(score) else None))
    return candidates[best_candidate(candidates, problem.task.sign)].metagraphs


def _training(
    problem: Problem,
    plan: Plan,
    metagraphs: tuple[MetaGraph, ...],
    seed: int,
    number: int,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> ModelTraining:
    """A training of the plan with some settings and options changed, with seed `number`."""
    changed, train_seed = plan.settings.changed(settings), derive_seed(seed, "train", number)
    method = MethodSpec(plan.method.name, {**plan.method.options, **options}).make()
    network = method.network(problem, changed, train_seed, metagraphs)
    return ModelTraining(problem, network, changed, train_seed)
