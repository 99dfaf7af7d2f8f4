"""What is run for a table: methods, data, seeds, and the paper's figures. A value, read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.options import check_rules
from diffmg.core.plan import Plan, settings_from
from diffmg.runs.sources import plain_name, published_for, starting_point
from diffmg.tuning import Tuning, read_tuned

SHAPE = {"title": str, "kind": str, "data": list, "seeds": int, "methods": dict}
"""What a plan file holds."""
OPTIONAL = {
    "paper": dict,
    "reruns": dict,
    "budget": int,
    "trainings": int,
    "tuned": str,
    "settings": dict,
    "pipelines": int,
}
"""What it may hold besides; settings are those of every row that does not say otherwise."""
KINDS = ("accuracy", "cost", "curves", "architectures")


@dataclass(frozen=True)
class Method:
    """One row: a baseline, a strategy, or the authors' meta graphs."""

    name: str
    baseline: str = ""
    baseline_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By data set, as tuning chose them; `all` holds for every one."""
    strategy: str = "diffmg"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    search_seeds: int = 3
    published: bool = False
    """Train the authors' meta graphs instead of searching."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Training settings, likewise by data set."""
    seeds: int | None = None
    """Trainings, where not as many as the table says."""
    pipelines: int | None = None
    """Likewise runs from seeds of their own."""
    tune: bool = True
    """Whether settings are chosen for it; the authors' meta graphs are trained with the authors' settings anyway."""
    tuned_as: str = ""
    """Takes the settings chosen for this method, which trains the same way."""
    scale: float = 1.0
    """A search is this much longer than the part of it that is run; its seconds are extrapolated."""
    note: str = ""

    def plan(self, data: str, repeats: int, seed: int, device: str) -> Plan:
        """The plan of this row on a data set, before tuning."""
        published = published_for(data)
        if self.published and published is None:
            raise DiffmgError(f"method {self.name!r} needs published meta graphs, but got {data!r}, which has none")
        searched, base = starting_point(data, "" if self.baseline else self.strategy)
        return Plan(
            data=data,
            baseline=self.baseline,
            baseline_options=_on(self.baseline_options, data),
            metagraphs=published.metagraphs if self.published and published else (),
            strategy=self.strategy,
            strategy_options=searched | dict(self.strategy_options),
            search_seeds=self.search_seeds,
            repeats=repeats,
            seed=seed,
            train=settings_from(base, _on(self.settings, data)),
            device=device,
        )


def _on(given: Mapping[str, Mapping[str, Any]], data: str) -> dict[str, Any]:
    """What holds for a data set: what is said for all, changed by what is said for it."""
    return {**given.get("all", {}), **given.get(data, {})}


@dataclass(frozen=True)
class Reproduction:
    """A table or figure of the paper."""

    title: str
    kind: str
    """accuracy, cost, curves or architectures."""
    data: tuple[str, ...]
    seeds: int
    methods: tuple[Method, ...]
    paper: Mapping[str, Mapping[str, Any]]
    """By method and data set: mean and standard deviation in percent; for a cost, minutes, and those for λ."""
    reruns: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Figures of others who ran the paper's baselines again: by who they are, method and data set."""
    budget: int = 0
    """Settings that tuning tries for each method; 0: none is tuned."""
    trainings: int = 1
    """Trainings of the best quarter of them."""
    tuned: Path = Path()
    """Folder of what tuning chose."""
    pipelines: int = 1
    """Runs of each row from seeds of their own, searches included: what is shown is over all their trainings."""

    def __post_init__(self) -> None:
        least = {"seeds": 1, "budget": 0, "trainings": 1, "pipelines": 1}
        values = ", ".join(f"{name}={getattr(self, name)}" for name in least)
        check_rules(values, {f"{name} >= {number}": getattr(self, name) >= number for name, number in least.items()})
        if self.kind not in KINDS:
            raise unknown("kind of table", self.kind, KINDS)
        names = [m.name for m in self.methods]
        for name in (*self.paper, *(m for rows in self.reruns.values() for m in rows)):
            if name not in names:
                raise unknown("method of the paper's figures:", name, names)

    def plan(self, method: Method, data: str, seed: int, device: str) -> Plan:
        """The plan of a row on a data set, with the settings that were chosen for it."""
        plan = method.plan(data, method.seeds or self.seeds, seed, device)
        place = self.choice(method, data)
        if place is None or not place.exists():
            return plan
        tuned = read_tuned(place)
        if not tuned.by(self.tuning, plan.train.select):
            raise DiffmgError(
                f"settings of a table are all chosen in one way, here {self.tuning} by {plan.train.select}, but got "
                f"budget={tuned.budget}, how={tuned.how!r}, seed={tuned.seed}, trainings={tuned.trainings} by "
                f"{tuned.select} in {str(place)!r}; remove the file to choose anew"
            )
        return tuned.applied(plan)

    def choice(self, method: Method, data: str) -> Path | None:
        """The file of what was chosen for a row; none where settings are taken as they are."""
        if not self.budget or method.published or not method.tune:
            return None
        return self.tuned / f"{method.tuned_as or method.name}-{plain_name(data)}.toml"

    @property
    def timed(self) -> bool:
        """Whether seconds are shown: its runs are then its own, since those of other tables may have had company."""
        return self.kind in ("cost", "curves")

    @property
    def tuning(self) -> Tuning:
        """How settings are looked for."""
        return Tuning(self.budget, trainings=self.trainings)

    def part(self, data: Sequence[str], methods: Sequence[str], seeds: int | None) -> Reproduction:
        """Only these data sets and methods (all where none is named), with another number of seeds."""
        names = [m.name for m in self.methods]
        for name in methods:
            if name not in names:
                raise unknown("method of this table:", name, names)
        for name in data:
            if name not in self.data:
                raise unknown("data set of this table:", name, self.data)
        kept = tuple(m for m in self.methods if not methods or m.name in methods)
        if seeds is not None:
            kept = tuple(replace(m, seeds=None) for m in kept)
        return replace(
            self,
            data=tuple(d for d in self.data if not data or d in data),
            methods=kept,
            paper=_of(kept, self.paper),
            reruns={who: _of(kept, rows) for who, rows in self.reruns.items()},
            seeds=self.seeds if seeds is None else seeds,
        )


def _of(methods: Sequence[Method], rows: Mapping[str, Any]) -> dict[str, Any]:
    return {m.name: rows[m.name] for m in methods if m.name in rows}


def read_reproduction(path: Path) -> Reproduction:
    """Read a plan file of a table."""
    if not path.is_file():
        raise DiffmgError(
            f"a table needs its plan file, but got {str(path)!r}, which is not there; give one with --plan "
            "(the repository has them in benchmarks/)"
        )
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiffmgError(f"a plan file of a table must be TOML, but got {str(path)!r}: {error}") from error
    for name, kind in (SHAPE | OPTIONAL).items():
        if not isinstance(found.get(name, kind() if name in OPTIONAL else None), kind):
            raise DiffmgError(
                f"a plan file of a table has {name} ({kind.__name__}), but got {found.get(name)!r} in {str(path)!r}"
            )
    for name in found:
        if name not in SHAPE | OPTIONAL:
            raise unknown("field of a plan file:", name, [*SHAPE, *OPTIONAL])
    figures = {name: _table(f"paper.{name}", row) for name, row in found.get("paper", {}).items()}
    reruns = {who: _table(f"reruns.{who}", rows) for who, rows in found.get("reruns", {}).items()}
    return Reproduction(
        title=found["title"],
        kind=found["kind"],
        data=tuple(found["data"]),
        seeds=found["seeds"],
        methods=tuple(_method(name, given, found.get("settings", {})) for name, given in found["methods"].items()),
        paper=figures,
        reruns=reruns,
        budget=found.get("budget", 0),
        trainings=found.get("trainings", 1),
        tuned=path.parent / found.get("tuned", ""),
        pipelines=found.get("pipelines", 1),
    )


def _method(name: str, given: Any, settings: Mapping[str, Any]) -> Method:
    known = [f.name for f in fields(Method) if f.name != "name"]
    for key in _table(f"methods.{name}", given):
        if key not in known:
            raise unknown(f"field of method {name!r}:", key, known)
    for key in ("settings", "baseline_options"):
        for data, values in _table(f"methods.{name}.{key}", given.get(key, {})).items():
            _table(f"methods.{name}.{key}.{data}", values)
    own = given.get("settings", {})
    if settings:
        own = {**own, "all": {**settings, **own.get("all", {})}}
    return Method(name, **{**given, "settings": own})


def _table(where: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise DiffmgError(f"{where!r} of a plan file must be a table, but got {given!r}")
    return given
