"""Choosing a method's settings by validation, with a budget that is the same for every method."""

from __future__ import annotations

import json
import math
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.files import write_text
from diffmg.core.metagraph import MetaGraph
from diffmg.core.options import check_rules, check_types
from diffmg.core.plan import Plan, settings_from
from diffmg.core.settings import Select, Settings
from diffmg.core.seeds import derive_seed
from diffmg.methods.baselines import BASELINES, make_baseline
from diffmg.methods.search import make_strategy
from diffmg.tasks.problem import Problem
from diffmg.training import ModelTraining, Quiet, Training, Watch, drive

RATES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
DECAYS = (0.0, 1e-5, 1e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7)
How = Literal["random", "halving"]


@dataclass(frozen=True)
class Tuning:
    """How settings are looked for."""

    budget: int = 20
    """Settings that are tried."""
    how: How = "random"
    """Train all to the end, or drop the worse half after a quarter and after half of the epochs (never the base)."""
    seed: int = 0
    trainings: int = 1
    """Trainings of the best quarter, two at least, from seeds of their own; their mean decides, not a lucky seed."""

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"budget >= 1": self.budget >= 1, "trainings >= 1": self.trainings >= 1})

    @property
    def finals(self) -> int:
        """How many are trained more than once."""
        return min(self.budget, max(2, self.budget // 4))


@dataclass(frozen=True)
class Trial:
    """Settings, options of the method, and how they did on validation: the mean of their trainings."""

    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    value: float
    """What is compared: the validation score, or minus the validation loss, as the settings select."""
    val_score: float
    epochs: int
    """Of all its trainings."""
    trainings: int = 1


@dataclass(frozen=True)
class Tuned:
    """What tuning chose, and how: a piece of a plan, kept as a TOML file."""

    budget: int
    how: str
    seed: int
    trainings: int
    select: Select
    """What the settings were chosen by, as epochs are: validation score or loss."""
    value: float
    """What was compared: the score, or minus the loss."""
    val_score: float
    base_val_score: float
    """Of the settings it started from."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    baseline_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_types(self)
        settings_from(Settings(), dict(self.settings))
        dict(self.baseline_options)

    def by(self, tuning: Tuning, select: Select) -> bool:
        """Whether it was chosen in this way."""
        own = (self.budget, self.how, self.seed, self.trainings, self.select)
        return own == (tuning.budget, tuning.how, tuning.seed, tuning.trainings, select)

    def applied(self, plan: Plan) -> Plan:
        """The plan with what was chosen."""
        options = {**plan.baseline_options, **self.baseline_options}
        return replace(plan, train=replace(plan.train, **self.settings), baseline_options=options)


def tune(problem: Problem, plan: Plan, tuning: Tuning, watch: Watch | None = None) -> list[Trial]:
    """Every trial, best first; the first to be tried is the plan as it is. `watch` is told how it goes.

    A strategy searches once, as the plan says: what its searches find is trained, and the best by validation is kept.
    Only the training of that is tuned.
    """
    watch = watch or Quiet()
    metagraphs = () if plan.baseline else plan.metagraphs or _searched(problem, plan, tuning.seed, watch)
    draw = random.Random(derive_seed(tuning.seed, "tuning", plan.baseline or plan.strategy))
    tunable = BASELINES.get(plan.baseline).tunable if plan.baseline else {}
    drawn: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {})]
    drawn += [_drawn(draw, tunable) for _ in range(tuning.budget - 1)]
    start, train = partial(_start, problem, plan, metagraphs, tuning.seed), partial(_train, watch)
    train_all = _all_to_the_end if tuning.how == "random" else _by_halving
    shown = train_all((start(0, *each) for each in drawn), train)
    trials = _best_first(Trial(s, o, *one) for (s, o), one in zip(drawn, shown, strict=True))
    best, others = trials[: tuning.finals], trials[tuning.finals :]
    seeds = range(1, tuning.trainings)
    again = [[train(f"again {n}", start(i, t.settings, t.options)) for i in seeds] for n, t in enumerate(best, 1)]
    return _best_first([*map(_confirmed, best, again), *others])


class _Shown(NamedTuple):
    """What a training showed."""

    value: float
    score: float
    epochs: int


def _best_first(trials: Iterable[Trial]) -> list[Trial]:
    """Those of more trainings first; last of all those with one that came to nothing."""
    return sorted(trials, key=lambda trial: (trial.value == -math.inf, -trial.trainings, -trial.value))


def _confirmed(trial: Trial, again: Sequence[_Shown]) -> Trial:
    """A trial with what more trainings of it showed."""
    number = 1 + len(again)
    value, score, epochs = (sum(of) for of in zip((trial.value, trial.val_score, trial.epochs), *again, strict=True))
    return replace(trial, value=value / number, val_score=score / number, epochs=epochs, trainings=number)


def _all_to_the_end(jobs: Iterator[ModelTraining], train: Callable[..., _Shown]) -> Iterator[_Shown]:
    """One is in memory at a time."""
    return map(train, (f"setting {number}" for number in count(1)), jobs)


def _by_halving(jobs: Iterator[ModelTraining], train: Callable[..., _Shown]) -> Iterator[_Shown]:
    """All are in memory."""
    every = list(jobs)
    for share, kept in ((0.25, 1.0), (0.5, 0.5), (1.0, 0.25)):
        best = sorted(range(len(every)), key=lambda n: -every[n].best_value)
        for number in {0, *best[: max(1, round(len(every) * kept))]}:
            train(f"setting {number + 1}", every[number], share)
    return map(_shown, every)


def _train(watch: Watch, phase: str, job: ModelTraining, share: float = 1.0) -> _Shown:
    """Train until so much of the epochs is done, or nothing gets better; what it showed up to there."""
    drive(phase, job, watch, share=share)
    return _shown(job)


def _shown(job: ModelTraining) -> _Shown:
    return _Shown(job.best_value, job.best_score, job.epoch)


def _drawn(draw: random.Random, tunable: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = {"lr": draw.choice(RATES), "weight_decay": draw.choice(DECAYS), "dropout": draw.choice(DROPOUTS)}
    return settings, {name: draw.choice(list(values)) for name, values in sorted(tunable.items())}


def _searched(problem: Problem, plan: Plan, seed: int, watch: Watch) -> tuple[MetaGraph, ...]:
    """What the searches of a plan find; of several, what is best on validation once trained."""
    strategy = make_strategy(plan.strategy, plan.strategy_options)
    best: tuple[float, tuple[MetaGraph, ...]] = (-math.inf, ())
    for number in range(plan.search_seeds):
        search = strategy.start(problem, plan.depth, plan.train, derive_seed(seed, "search", number))
        drive(f"search-{number}", search, watch)
        if plan.search_seeds == 1:
            return search.found()
        shown = _train(watch, f"train-{number}", _start(problem, plan, search.found(), seed, 0, {}, {}))
        best = max(best, (shown.score, search.found()), key=lambda found: found[0])
    return best[1]


def _start(
    problem: Problem,
    plan: Plan,
    metagraphs: tuple[MetaGraph, ...],
    seed: int,
    number: int,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> ModelTraining:
    train, train_seed = replace(plan.train, **settings), derive_seed(seed, "train", number)
    if metagraphs:
        return Training(problem, metagraphs, train, train_seed)
    baseline = make_baseline(plan.baseline, {**plan.baseline_options, **options})
    return ModelTraining(problem, baseline.build(problem, train, train_seed), train, train_seed)


def chosen(trials: Sequence[Trial], plan: Plan, tuning: Tuning) -> Tuned:
    """The best trial, written out in full."""
    best, base = trials[0], next(trial for trial in trials if not trial.settings)
    settings = {n: asdict(plan.train)[n] for n in ("lr", "weight_decay", "dropout")} | dict(best.settings)
    way = tuning.budget, tuning.how, tuning.seed, tuning.trainings, plan.train.select
    return Tuned(*way, best.value, best.val_score, base.val_score, settings, best.options)


def to_toml(tuned: Tuned) -> str:
    """As a file."""
    parts = asdict(tuned)
    tables = {name: parts.pop(name) for name in ("settings", "baseline_options")}
    lines = [f"{name} = {_plain(value)}" for name, value in parts.items()]
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{n} = {_plain(v)}" for n, v in values.items())] if values else []
    return "\n".join(lines) + "\n"


def write_tuned(path: Path, tuned: Tuned) -> None:
    """Write what was chosen."""
    write_text(path, to_toml(tuned))


def read_tuned(path: Path) -> Tuned:
    """Read what `write_tuned` wrote."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiffmgError(f"tuned settings must be a TOML file, but got {str(path)!r}: {error}") from error
    known = [f.name for f in fields(Tuned)]
    for name in found:
        if name not in known:
            raise unknown(f"field of tuned settings in {str(path)!r}:", name, known)
    try:
        return Tuned(**found)
    except (TypeError, ValueError) as error:
        raise DiffmgError(f"tuned settings must be what `diffmg tune` wrote, but got {str(path)!r}: {error}") from error


def _plain(value: Any) -> str:
    """As TOML, which writes texts, booleans, lists and finite numbers as JSON does."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
