"""How a model does on the test part, in detail: values to store with a run and to show on its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Point = tuple[float, float]


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """Test examples of the class."""


@dataclass(frozen=True)
class Confusion:
    """How many examples of each true class (a row) were given each class (a column)."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Bin:
    """Examples whose predicted probabilities are alike, and how often what was predicted came true."""

    predicted: float
    happened: float
    count: int


@dataclass(frozen=True)
class Residuals:
    """Predictions of one number beside the truth."""

    name: str
    points: tuple[Point, ...]
    """(true, predicted), a sample of the test part."""
    quantiles: Mapping[str, float]
    """Quantiles of predicted minus true, by percent."""


@dataclass(frozen=True)
class Recommended:
    """What one user was recommended, by the ids of the data."""

    user: str
    items: tuple[str, ...]
    """Best first."""
    hits: tuple[bool, ...]
    """Which of them the user chose in the test part."""
    wanted: tuple[str, ...]
    """What it chose there; only the first few."""
    known: tuple[str, ...] = ()
    """What it is known to have chosen before; only the first few."""


@dataclass(frozen=True)
class Details:
    """What a task has to say about test answers beyond its scores; a field is empty where it has no meaning."""

    classes: tuple[ClassScore, ...] = ()
    confusion: Confusion | None = None
    curves: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """By name: `roc` (false against true positive rate), `precision_recall` (recall against precision), or a score of
    the first k items against k."""
    calibration: tuple[Bin, ...] = ()
    of: str = ""
    """What curves and calibration are about: the positive class, the chosen class, a pair."""
    residuals: tuple[Residuals, ...] = ()
    examples: tuple[Recommended, ...] = ()


@dataclass(frozen=True)
class Certainty:
    """How sure the test score of a run is, and what answers that know nothing would score."""

    error: float | None
    """Standard error of the selection metric, by resampling the test part; None where a task cannot be resampled."""
    units: int
    """How many independent examples were resampled."""
    of: str
    """What they are, such as `author` or `user`."""
    resamples: int
    chance: float | None = None
    """The test score of answers that know nothing."""
    blind: str = ""
    """What those answers are; the model's own, dealt out at random, where it says nothing."""
    above_chance: bool | None = None
    """Whether the model is surely better than they are."""


@dataclass(frozen=True)
class Beside:
    """A simple method trained on the same split, and how the model compares with it on the test part."""

    method: str
    summary: str
    """What it does, in a line."""
    val: Mapping[str, float] = field(default_factory=dict)
    test: Mapping[str, float] = field(default_factory=dict)
    error: float | None = None
    """Standard error of its test score."""
    lead: float | None = None
    """By how much the model's test score is better than its own; negative if it is worse."""
    lead_error: float | None = None
    """Standard error of the lead: both are scored on the same resamples."""
    wins: float | None = None
    """Share of the resamples in which the model is better; a tie counts half."""
    refused: str = ""
    """Why it was not trained; empty if it was."""
