"""What is run for a table: methods, data, seeds, and the paper's figures. A value, read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from diffmg.errors import DiffmgError, unknown
from diffmg.options import check_rules
from diffmg.plan import Plan, settings_from
from diffmg.sources import published_for
from diffmg.train import TrainSettings

SHAPE = {"title": str, "kind": str, "data": list, "seeds": int, "methods": dict, "paper": dict}
"""What a plan file holds."""
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
    note: str = ""

    def plan(self, data: str, repeats: int, seed: int, device: str) -> Plan:
        """The plan of this row on a data set."""
        published = published_for(data)
        own = not self.baseline and published is not None
        base = settings_from(TrainSettings(), published.train if own and published else {})
        searched = dict(published.search) if own and published and self.strategy == "diffmg" else {}
        if self.published and published is None:
            raise DiffmgError(f"method {self.name!r} needs published meta graphs, but got {data!r}, which has none")
        return Plan(
            data=data,
            baseline=self.baseline,
            baseline_options=_on(self.baseline_options, data),
            metagraphs=published.metagraphs if self.published and published else (),
            strategy=self.strategy,
            strategy_options={} if self.baseline else searched | dict(self.strategy_options),
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
    """By method and data set: mean and standard deviation in percent, or minutes."""

    def __post_init__(self) -> None:
        check_rules(f"seeds={self.seeds}", {"seeds >= 1": self.seeds >= 1})
        if self.kind not in KINDS:
            raise unknown("kind of table", self.kind, KINDS)
        names = [m.name for m in self.methods]
        for name in self.paper:
            if name not in names:
                raise unknown("method of the paper's figures:", name, names)

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
        return replace(
            self,
            data=tuple(d for d in self.data if not data or d in data),
            methods=kept,
            paper={m.name: self.paper[m.name] for m in kept if m.name in self.paper},
            seeds=self.seeds if seeds is None else seeds,
        )


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
    for name, kind in SHAPE.items():
        if not isinstance(found.get(name, {} if name == "paper" else None), kind):
            raise DiffmgError(
                f"a plan file of a table has {name} ({kind.__name__}), but got {found.get(name)!r} in {str(path)!r}"
            )
    for name in found:
        if name not in SHAPE:
            raise unknown("field of a plan file:", name, SHAPE)
    methods = tuple(_method(name, given) for name, given in found["methods"].items())
    paper = {name: _table(f"paper.{name}", row) for name, row in found.get("paper", {}).items()}
    return Reproduction(found["title"], found["kind"], tuple(found["data"]), found["seeds"], methods, paper)


def _method(name: str, given: Any) -> Method:
    known = [f.name for f in fields(Method) if f.name != "name"]
    for key in _table(f"methods.{name}", given):
        if key not in known:
            raise unknown(f"field of method {name!r}:", key, known)
    for key in ("settings", "baseline_options"):
        for data, values in _table(f"methods.{name}.{key}", given.get(key, {})).items():
            _table(f"methods.{name}.{key}.{data}", values)
    return Method(name, **given)


def _table(where: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise DiffmgError(f"{where!r} of a plan file must be a table, but got {given!r}")
    return given
