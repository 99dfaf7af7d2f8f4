"""A plan: everything that determines a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from diffmg.core.budget import Budget
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.files import is_file_name
from diffmg.core.method import MethodSpec
from diffmg.core.options import Checked, Count
from diffmg.core.settings import Settings

Refit = Literal["no", "val", "all"]
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")


def is_select(text: str) -> bool:
    """Whether a text is a SELECT, and not the name of a table."""
    return re.match(r"\s*(select|with)\b", text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Predictions(Checked):
    """What to predict from a database: a table with an entity, a moment and a label a row."""

    table: str
    """A file, a table of the database, or a SELECT."""
    label: str | None = None
    """Columns by their role; recognised by name and type where they are not given."""
    entity: str | None = None
    time: str | None = None
    split: str | None = None
    validation: str | None = None
    """Where no column has the split, the first moment of validation, and of test."""
    test: str | None = None
    history: Literal["fresh", "frozen"] | None = None
    """Whether predictions see up to their moment (fresh), or no further than the first moment of their part (frozen);
    where it is not given, frozen if the data end before the predictions do."""
    horizon: str | None = None
    """How long after its moment a label is known."""
    static: str | None = None
    """Tables, with commas between them, whose rows were known from the beginning, whatever their dates."""
    kind: str | None = None
    """The kind of task, and the metric that chooses; by the label where they are not given."""
    metric: str | None = None

    @property
    def query(self) -> str | None:
        """The SELECT, if it is one."""
        return self.table if is_select(self.table) else None

    @property
    def name(self) -> str:
        """The name of the table or file; a word for a SELECT."""
        return "predictions" if self.query else self.table

    @property
    def is_file(self) -> bool:
        """Whether it is a path."""
        return self.query is None and is_file_name(self.table)


@dataclass(frozen=True)
class Source:
    """Where a problem is read from."""

    name: str = ""
    """A data set, a description (TOML) or a database; empty for a network that was built in Python."""
    seed: int = 0
    """Seed of synthetic data."""
    target: str | None = None
    """For a database: the `TABLE.COLUMN` to predict."""
    as_of: Mapping[str, str] = field(default_factory=dict)
    """For a database: a time per column; only rows before it are read."""
    on_unknown: str | None = None
    """For user tables: whether edges to unknown ids are an error or dropped."""
    predictions: Predictions | None = None
    """For a database: a table of predictions, instead of a target."""

    @property
    def is_database(self) -> bool:
        """Whether it is a database file or address, or a folder of tables, which ends with a slash."""
        return "://" in self.name or self.name.endswith((*DATABASES, "/"))

    @property
    def is_described(self) -> bool:
        """Whether it is a description of tables, or a database that can be described."""
        return self.name.endswith(".toml") or self.is_database

    @property
    def is_file(self) -> bool:
        """Whether it is a path."""
        return self.is_described and "://" not in self.name

    @property
    def label(self) -> str:
        """A short name for use in file names: the stem of a file or database, or the data set with its size."""
        return re.sub(r"[^\w.]+", "-", Path(self.name).stem if self.is_described else self.name)

    def located(self) -> Source:
        """The same source with an absolute path."""
        slash = "/" if self.name.endswith("/") else ""
        found = replace(self, name=f"{Path(self.name).resolve()}{slash}") if self.is_file else self
        if self.predictions is None or not self.predictions.is_file:
            return found
        return replace(found, predictions=replace(self.predictions, table=str(Path(self.predictions.table).resolve())))


@dataclass(frozen=True)
class Plan(Checked):
    """What a run does: search, train, select the best model by validation, score it."""

    method: MethodSpec
    source: Source = field(default_factory=Source)
    settings: Settings = field(default_factory=Settings)
    repeats: Count = 1
    """Trainings of the chosen candidate, each with a different seed; the best on validation is kept."""
    seed: int = 0
    device: str = "auto"
    engine: Engine = field(default_factory=Engine)
    budget: Budget | None = None
    """Race variants of the method within this budget; None to run it as it is."""
    batch: Count | None = None
    """Trainings that a race starts before it looks at their results; None for what suits the device."""
    single: bool = False
    """Of a race, whether the best single model is used for prediction, not the ensemble."""
    refit: Refit = "no"
    """After a race, train what was chosen again: on training and validation labels, or on all labels."""
    beside: tuple[str, ...] = ()
    """Methods to train once beside the model, for comparison; `usual` for two cheap ones that suit the task."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.method, MethodSpec):
            raise DiffmgError(f"`method` must be a MethodSpec, but got {self.method!r}; use `method.spec()`")
