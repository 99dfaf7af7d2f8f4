"""Specification of a table, read from a plan file: rows, data sets, numbers of seeds, and the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from diffmg.core.codec import from_plain, read_toml
from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.options import check_rules
from diffmg.core.plan import Plan, Source
from diffmg.methods.given import Given
from diffmg.runs.sources import make_plan, published_for
from experiments.tuned import Tuned, Tuning, find_tuned

Kind = Literal["accuracy", "search", "ranking", "predictions", "cost", "curves", "architectures"]


@dataclass(frozen=True)
class Row:
    """One row of a table: a method with its options, or the authors' meta graphs."""

    name: str
    method: str = ""
    """The registered name; defaults to the name of the row."""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Training settings that override the table's."""
    published: bool = False
    """Train the authors' meta graphs instead of searching."""
    seeds: int | None = None
    """Number of trainings, overriding the table's."""
    pipelines: int | None = None
    """Number of runs with separate seeds, overriding the table's."""
    budget: str = ""
    """Trainings, or a time such as `5m`, in which variants of the method race; each run is then a whole pipeline."""
    tuned_as: str = ""
    """Use the settings tuned for this row, which trains the same way."""
    data: tuple[str, ...] = ()
    """Only these data sets of the table, for a method that does not serve all; empty for all."""
    scale: float = 1.0
    """Ratio of a full search to the part that is run, for extrapolating its seconds."""
    note: str = ""

    def on(self, data: str) -> bool:
        """Whether the row has a cell for a data set."""
        return not self.data or data in self.data


@dataclass(frozen=True)
class Table:
    """A table or figure of the paper."""

    title: str
    kind: Kind
    data: tuple[str, ...]
    seeds: int
    methods: tuple[Row, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Default training settings of all rows."""
    paper: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    """By row and data set: mean and standard deviation in percent; for a cost, minutes, and those for λ."""
    reruns: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Figures from others who reproduced the paper's baselines, by author, row and data set."""
    tuned: str = ""
    """File of tuned settings; rows that are not in it, and have no budget, are run as they are."""
    tuning: Tuning = field(default_factory=Tuning)
    """How they were tuned."""
    pipelines: int = 1
    """Runs of each row with separate seeds, including the search; figures are over all their trainings."""
    reports: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Test scores that others report, by author and data set."""

    def __post_init__(self) -> None:
        least = {"seeds": 1, "pipelines": 1}
        values = ", ".join(f"{name}={getattr(self, name)}" for name in least)
        check_rules(values, {f"{name} >= {number}": getattr(self, name) >= number for name, number in least.items()})
        names = [row.name for row in self.methods]
        for name in (*self.paper, *(row for rows in self.reruns.values() for row in rows)):
            if name not in names:
                raise unknown("method of the paper's figures:", name, names)

    @property
    def timed(self) -> bool:
        """Whether seconds are shown; it then needs its own runs, since other tables' may have shared the machine."""
        return self.kind in ("search", "cost", "curves")

    @property
    def cells(self) -> list[tuple[Row, str]]:
        """Rows and data sets that are run, one data set after the other."""
        return [(row, data) for data in self.data for row in self.methods if row.on(data)]

    def run_seeds(self, row: Row, first: int = 0) -> range:
        """The seeds of a row's runs."""
        return range(first, first + (row.pipelines or self.pipelines))

    def choice(self, row: Row, data: str) -> Tuned | None:
        """The tuned settings of a row; none if it was not tuned. The authors' meta graphs have their settings."""
        if not self.tuned or row.published or row.budget:
            return None
        return find_tuned(Path(self.tuned), row.tuned_as or row.name, data)

    def plan(self, row: Row, data: str, seed: int, device: str) -> Plan:
        """The plan of a row on a data set, with its tuned settings."""
        plan, tuned = self.untuned_plan(row, data, seed, device), self.choice(row, data)
        if tuned is None:
            return plan
        if (tuned.tuning, tuned.select) != (self.tuning, plan.settings.select):
            raise DiffmgError(
                f"settings of a table are all chosen in one way, here {self.tuning} by {plan.settings.select}, but got "
                f"{tuned.tuning} by {tuned.select} for {tuned.method} on {data}; remove its line in {self.tuned!r}"
            )
        return tuned.applied(plan)

    def untuned_plan(self, row: Row, data: str, seed: int, device: str) -> Plan:
        """The plan of a row on a data set, before tuning."""
        method: Given | str = row.method or row.name
        if row.published:
            published = published_for(data)
            if published is None:
                raise DiffmgError(f"row {row.name!r} needs published meta graphs, but got {data!r}, which has none")
            method = Given(published.metagraphs)
        settings = {**self.settings, **row.settings}
        more: dict[str, Any] = {"repeats": row.seeds or self.seeds, "seed": seed, "device": device}
        source = Source(data, target="ranking" if self.kind == "ranking" else None)
        if self.kind == "predictions":  # a plan of own tables, but named by its task, wherever they lie
            plan = make_plan(Source(f"{data}.toml"), method, row.options, settings, budget=row.budget or None, **more)
            return replace(plan, source=source)
        return make_plan(source, method, row.options, settings, budget=row.budget or None, **more)

    def part(self, data: Sequence[str], methods: Sequence[str], seeds: int | None) -> Table:
        """A copy with only these data sets and rows (default: all), and another number of seeds.

        Seeds are those of trainings, or of whole pipelines where the table is about them.
        """
        _check_known("data set", data, self.data)
        _check_known("method", methods, [row.name for row in self.methods])
        kept = tuple(row for row in self.methods if not methods or row.name in methods)
        part = replace(
            self,
            data=tuple(d for d in self.data if not data or d in data),
            methods=kept,
            paper=_of(kept, self.paper),
            reruns={who: _of(kept, rows) for who, rows in self.reruns.items()},
        )
        return part if seeds is None else part._from(seeds)

    def _from(self, seeds: int) -> Table:
        if self.kind in ("search", "ranking", "predictions"):
            return replace(self, pipelines=seeds, methods=tuple(replace(row, pipelines=None) for row in self.methods))
        return replace(self, seeds=seeds, methods=tuple(replace(row, seeds=None) for row in self.methods))


def _check_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise unknown(f"{what} of this table:", name, known)


def _of(kept: Sequence[Row], rows: Mapping[str, Any]) -> dict[str, Any]:
    return {row.name: rows[row.name] for row in kept if row.name in rows}


def read_table(path: Path) -> Table:
    """Read a plan file; the path of its tuned settings is relative to it."""
    what = f"the plan file {str(path)!r}"
    given = read_toml(path, "the plan file of a table")
    rows = given.get("methods")
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise DiffmgError(f"{what}: `methods` must hold a table for each row, but got {rows!r}")
    given["methods"] = [{**row, "name": name, "budget": str(row.get("budget", ""))} for name, row in rows.items()]
    table = from_plain(Table, given, what)
    for row in table.methods:
        _check_known("data set", row.data, table.data)
    return replace(table, tuned=str(path.parent / table.tuned)) if table.tuned else table
