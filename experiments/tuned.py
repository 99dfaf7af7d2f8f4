"""Settings that were tuned: one JSON line per method and data set, with how they were selected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from diffmg.core.codec import from_plain
from diffmg.core.method import MethodSpec
from diffmg.core.options import check_rules, check_types
from diffmg.core.plan import Plan
from diffmg.core.settings import Select, Settings
from experiments.jsonl import read_lines

How = Literal["random", "halving"]


@dataclass(frozen=True)
class Tuning:
    """How settings were tuned."""

    budget: int = 20
    """Number of settings tried."""
    how: How = "random"
    """Train all to the end, or halve them after a quarter and after half of the epochs (the base always stays)."""
    seed: int = 0
    trainings: int = 1
    """Trainings of each of the best quarter (at least two), with separate seeds; their mean decides."""

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"budget >= 1": self.budget >= 1, "trainings >= 1": self.trainings >= 1})

    @property
    def finalists(self) -> int:
        """The number of settings trained more than once."""
        return min(self.budget, max(2, self.budget // 4))


@dataclass(frozen=True)
class Tuned:
    """The tuned settings of a method on a data set."""

    method: str
    data: str
    tuning: Tuning
    select: Select
    """The selection criterion, as for epochs: validation score or loss."""
    value: float
    """The compared value: the score, or minus the loss."""
    val_score: float
    base_val_score: float
    """Validation score of the initial settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_types(self)
        Settings().changed(self.settings)

    def applied(self, plan: Plan) -> Plan:
        """The plan with the tuned settings."""
        method = MethodSpec(plan.method.name, {**plan.method.options, **self.options})
        return replace(plan, method=method, settings=plan.settings.changed(self.settings))


def find_tuned(path: Path, method: str, data: str) -> Tuned | None:
    """The entry of a file for a method on a data set."""
    for line in read_lines(path):
        if (line.get("method"), line.get("data")) == (method, data):
            return from_plain(Tuned, line, f"the settings of {method} on {data} in {str(path)!r}")
    return None
