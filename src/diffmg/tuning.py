"""Choosing a method's settings by validation, with a budget that is the same for every method."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from diffmg.baselines import BASELINES, make_baseline
from diffmg.metagraph import MetaGraph
from diffmg.options import check_rules, check_types
from diffmg.randomness import derive_seed
from diffmg.strategies import make_strategy
from diffmg.train import ModelTraining, Problem, Training, TrainSettings

RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
DECAYS = (0.0, 1e-5, 1e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7)
DEPTH = 4
How = Literal["random", "halving"]


@dataclass(frozen=True)
class Tuning:
    """How settings are looked for."""

    budget: int = 20
    """Settings that are tried."""
    how: How = "random"
    """Train all to the end, or drop the worse half after a quarter and after half of the epochs (never the base)."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"budget >= 1": self.budget >= 1})


@dataclass(frozen=True)
class Trial:
    """Settings, options of the method, and how they did on validation."""

    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    val_score: float
    epochs: int


def tune(problem: Problem, method: str, base: TrainSettings, tuning: Tuning) -> list[Trial]:
    """Every trial, best first; the first is always `base` itself, so tuning never makes validation worse.

    `method` is a baseline, or a strategy, whose meta graphs are searched once and kept.
    """
    names = dict(BASELINES.items())
    metagraphs = () if method in names else _searched(problem, method, base, tuning.seed)
    draw = random.Random(derive_seed(tuning.seed, "tuning", method))
    tunable = names[method].tunable if method in names else {}
    drawn: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {})]
    drawn += [_drawn(draw, tunable) for _ in range(tuning.budget - 1)]
    jobs = [_start(problem, method, metagraphs, replace(base, **s), o, tuning.seed) for s, o in drawn]
    for share in (1.0,) if tuning.how == "random" else (0.25, 0.5, 1.0):
        best = sorted(range(len(jobs)), key=lambda n: -jobs[n].best_score)
        alive = best if tuning.how == "random" else {0, *best[: max(1, round(len(jobs) * _kept(share)))]}
        for number in alive:
            _train(jobs[number], share)
    trials = [Trial(s, o, job.best_score, job.epoch) for (s, o), job in zip(drawn, jobs, strict=True)]
    return sorted(trials, key=lambda trial: -trial.val_score)


def _kept(share: float) -> float:
    """The part of the trials that goes on to this share of the epochs."""
    return {0.25: 1.0, 0.5: 0.5, 1.0: 0.25}[share]


def _train(job: ModelTraining, share: float) -> None:
    while not job.done and job.epoch < share * job.total:
        job.advance()


def _drawn(draw: random.Random, tunable: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = {"lr": draw.choice(RATES), "weight_decay": draw.choice(DECAYS), "dropout": draw.choice(DROPOUTS)}
    return settings, {name: draw.choice(list(values)) for name, values in sorted(tunable.items())}


def _searched(problem: Problem, strategy: str, settings: TrainSettings, seed: int) -> tuple[MetaGraph, ...]:
    search = make_strategy(strategy).start(problem, DEPTH, settings, derive_seed(seed, "search", 0))
    while not search.done:
        search.advance()
    return search.found()


def _start(
    problem: Problem,
    method: str,
    metagraphs: tuple[MetaGraph, ...],
    settings: TrainSettings,
    options: Mapping[str, Any],
    seed: int,
) -> ModelTraining:
    train_seed = derive_seed(seed, "train", 0)
    if metagraphs:
        return Training(problem, metagraphs, settings, train_seed)
    return ModelTraining(
        problem, make_baseline(method, options).build(problem, settings, train_seed), settings, train_seed
    )


def to_toml(method: str, data: str, trials: Sequence[Trial], base: TrainSettings, tuning: Tuning) -> str:
    """The best trial as a piece of a plan file, with how it was chosen."""
    best = trials[0]
    chosen = {n: asdict(base)[n] for n in ("lr", "weight_decay", "dropout")} | dict(best.settings)
    lines = [
        f"# diffmg tune {method} {data} --budget {tuning.budget} --how {tuning.how} --seed {tuning.seed}",
        f"# validation {best.val_score:.4f}; the settings it started from reached {_first(trials):.4f}",
        f'[methods.{method}.settings."{data}"]',
        *(f"{name} = {_plain(value)}" for name, value in chosen.items()),
    ]
    if best.options:
        lines += [
            f'[methods.{method}.baseline_options."{data}"]',
            *(f"{n} = {_plain(v)}" for n, v in best.options.items()),
        ]
    return "\n".join(lines) + "\n"


def _first(trials: Sequence[Trial]) -> float:
    return next(t.val_score for t in trials if not t.settings)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
