"""A plan: everything that decides what a run does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.metagraph import MetaGraph, links_of
from diffmg.core.options import check_types
from diffmg.core.settings import Settings

OPTIONS = ("strategy_options", "data_options", "baseline_options")


@dataclass(frozen=True)
class Plan:
    """Search (or take) meta graphs, train them, keep the best by validation, score it."""

    data: str
    """A data set by name, a description (TOML) or a database; empty where the network was given in Python."""
    data_seed: int = 0
    """Draws made data."""
    data_options: Mapping[str, Any] = field(default_factory=dict)
    """For own tables and databases: target, as_of, on_unknown."""
    metagraphs: tuple[MetaGraph, ...] = ()
    """Meta graphs to train; where there are none they are searched."""
    baseline: str = ""
    """A rival to train instead of searching for a meta graph; see `diffmg list`."""
    baseline_options: Mapping[str, Any] = field(default_factory=dict)
    strategy: str = "diffmg"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 4
    """K, the number of states of a searched meta graph."""
    search_seeds: int = 3
    """Searches, each from another seed; what they find is trained, and validation chooses."""
    repeats: int = 1
    """Trainings of the chosen meta graphs, each from another seed; scores are their mean."""
    seed: int = 0
    train: Settings = field(default_factory=Settings)
    device: str = "auto"
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        links_of(self.depth)
        check_types(self)
        if self.baseline and self.metagraphs:
            raise DiffmgError(
                f"a baseline has no meta graph, but got {self.baseline!r} and {len(self.metagraphs)} of them"
            )
        for name in ("search_seeds", "repeats"):
            if getattr(self, name) < 1:
                raise DiffmgError(f"`{name} >= 1` must hold, but got {name}={getattr(self, name)}")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain |= {"metagraphs": [m.to_dict() for m in self.metagraphs]}
        plain |= {"train": asdict(self.train), "engine": asdict(self.engine)}
        return plain | {name: dict(getattr(self, name)) for name in OPTIONS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Read what `to_dict` wrote."""
        if not isinstance(data, dict) or not isinstance(data.get("data"), str):
            raise DiffmgError(f"a plan is an object with the name of its data, but got {str(data)[:80]!r}")
        known = {f.name for f in fields(cls)}
        for name in data:
            if name not in known:
                raise unknown("field of a plan:", name, known)
        try:
            train = settings_from(Settings(), dict(data.get("train", {})))
            metagraphs = tuple(MetaGraph.from_dict(m) for m in data.get("metagraphs", []))
            engine = engine_from(dict(data.get("engine", {})))
            return cls(**(data | {"train": train, "metagraphs": metagraphs, "engine": engine}))
        except DiffmgError:
            raise
        except (TypeError, ValueError) as error:
            raise DiffmgError(f"a plan must be one that diffmg wrote, but got one that is not: {error}") from error


def engine_from(switches: Mapping[str, Any]) -> Engine:
    """The engine with some switches changed; unknown ones raise."""
    known = {f.name for f in fields(Engine)}
    for name in switches:
        if name not in known:
            raise unknown("switch of the engine:", name, known)
    return Engine(**switches)


def settings_from(base: Settings, changes: Mapping[str, Any]) -> Settings:
    """`base` with some fields changed; unknown fields raise."""
    known = {f.name for f in fields(Settings)}
    for name in changes:
        if name not in known:
            raise unknown("training setting", name, known)
    return replace(base, **changes)
