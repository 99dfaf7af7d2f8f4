"""The description of a network in tables: a frozen value, and its TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from diffmg.errors import DiffmgError, unknown
from diffmg.files import write_text
from diffmg.options import check_types

OnUnknown = Literal["error", "drop"]


@dataclass(frozen=True)
class NodeTable:
    """Where the nodes of a type come from."""

    table: str | None = None
    """File, or table of the database; None where the nodes are those that relations name."""
    id: tuple[str, ...] = ()
    """Columns that tell the nodes apart; the first column where none is given."""
    features: tuple[str, ...] | None = None
    """Columns that become features; all but ids, keys, labels and splits where none are given."""


@dataclass(frozen=True)
class RelationTable:
    """Where the edges of a relation come from: one row an edge."""

    table: str
    source: tuple[str, ...]
    """Node type, then the columns that hold its ids."""
    target: tuple[str, ...]
    weight: str | None = None
    both: bool = True
    """Whether the reverse relation is added."""

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            if len(getattr(self, name)) < 2:
                raise DiffmgError(f"`{name}` must be [node type, column, ...], but got {list(getattr(self, name))}")


@dataclass(frozen=True)
class ClassifyTable:
    """Label the nodes of a type by a column of its table."""

    target: str
    label: tuple[str, ...]
    """The column of labels, or several columns of 0 and 1 for several labels a node."""
    split: str | None = None
    """Column of train, val and test; random and stratified where there is none."""
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: int = 0
    metric: str = "macro_f1"


@dataclass(frozen=True)
class RecommendTable:
    """Recommend along a relation: its rows are split, the observed half stays in the network."""

    relation: str
    """Name of the relation whose source is the user and whose target is the item."""
    rating: str | None = None
    """Column of ratings; without it every row counts as liked."""
    liked: float = 3.0
    """Ratings above it are positive, the others negative."""
    seed: int = 0
    metric: str = "auc"


@dataclass(frozen=True)
class Description:
    """A network in tables, and the task on it."""

    nodes: Mapping[str, NodeTable]
    relations: Mapping[str, RelationTable]
    task: ClassifyTable | RecommendTable
    database: str | None = None
    """File or address of a database that holds the tables; None where they are files."""
    on_unknown: OnUnknown = "error"
    """What to do with edges to ids that are not in the node table."""
    encoding: str = "utf8"
    as_of: Mapping[str, str] = field(default_factory=dict)
    """Per table, COLUMN and TIME as `COLUMN=TIME`: only rows before it are read."""

    def __post_init__(self) -> None:
        check_types(self)
        for name, relation in self.relations.items():
            for end in (relation.source[0], relation.target[0]):
                if end not in self.nodes:
                    raise unknown(f"node type in relation {name!r}:", end, self.nodes)
        if isinstance(self.task, ClassifyTable) and self.task.target not in self.nodes:
            raise unknown("node type of the task:", self.task.target, self.nodes)
        if isinstance(self.task, RecommendTable) and self.task.relation not in self.relations:
            raise unknown("relation of the task:", self.task.relation, self.relations)

    def keys_of(self, table: str) -> set[str]:
        """Columns of a table that are ids, keys, weights, labels or splits, and so no features."""
        used = {c for n in self.nodes.values() if n.table == table for c in n.id}
        for relation in self.relations.values():
            if relation.table == table:
                used |= {*relation.source[1:], *relation.target[1:], *([relation.weight] if relation.weight else [])}
        if isinstance(self.task, ClassifyTable) and self.nodes[self.task.target].table == table:
            used |= {*self.task.label, *([self.task.split] if self.task.split else [])}
        return used


def read_description(path: Path) -> Description:
    """Read a TOML file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DiffmgError(f"a description must be a TOML file, but got no file at {str(path)!r}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiffmgError(f"a description must be TOML, but got {str(path)!r}, which is not: {error}") from error
    return description_from_dict(data)


def description_from_dict(data: Mapping[str, Any]) -> Description:
    """Read what `description_to_dict` wrote."""
    for part in ("nodes", "relations", "task"):
        if not isinstance(data.get(part), dict) or not data[part]:
            raise DiffmgError(f"a description needs [nodes.TYPE], [relations.NAME] and [task], but got no {part!r}")
    rest = {k: v for k, v in data.items() if k not in ("nodes", "relations", "task")}
    _check_names("a description", rest, Description)
    task = RecommendTable if "relation" in data["task"] else ClassifyTable
    return Description(
        {name: _part(NodeTable, f"nodes.{name}", n) for name, n in data["nodes"].items()},
        {name: _part(RelationTable, f"relations.{name}", r) for name, r in data["relations"].items()},
        _part(task, "task", data["task"]),
        **rest,
    )


def description_to_dict(description: Description) -> dict[str, Any]:
    """As plain values; what has its default is left out."""
    plain: dict[str, Any] = {
        f.name: getattr(description, f.name)
        for f in fields(Description)
        if f.name not in ("nodes", "relations", "task") and getattr(description, f.name) not in (f.default, None, {})
    }
    plain["nodes"] = {name: _plain(n) for name, n in description.nodes.items()}
    plain["relations"] = {name: _plain(r) for name, r in description.relations.items()}
    return plain | {"task": _plain(description.task)}


def write_description(path: Path, description: Description) -> None:
    """Write a TOML file that can be read, edited and read again."""
    data = description_to_dict(description)
    lines = [f"{key} = {_toml(value)}" for key, value in data.items() if not isinstance(value, dict)]
    tables = {"as_of": data["as_of"]} if "as_of" in data else {}
    tables |= {f"nodes.{_key(name)}": n for name, n in data["nodes"].items()}
    tables |= {f"relations.{_key(name)}": r for name, r in data["relations"].items()}
    for head, values in (tables | {"task": data["task"]}).items():
        lines += ["", f"[{head}]", *(f"{_key(k)} = {_toml(v)}" for k, v in values.items())]
    write_text(path, "\n".join(lines).lstrip("\n") + "\n")


def _part(kind: Any, where: str, data: object) -> Any:
    if not isinstance(data, dict):
        raise DiffmgError(f"[{where}] must be a table of settings, but got {data!r}")
    given = {"table" if k == "file" else k: v for k, v in data.items()}
    _check_names(f"[{where}]", given, kind)
    lists = {name: _listed(where, name, value) for name, value in given.items() if name in _LISTS}
    try:
        part = kind(**(given | lists))
    except TypeError as error:
        raise DiffmgError(f"[{where}] is not complete: {error}; got {sorted(given)}") from error
    check_types(part)
    return part


_LISTS = ("id", "features", "source", "target", "label", "shares")


def _listed(where: str, name: str, value: object) -> object:
    if name == "target" and where == "task":
        return value
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise DiffmgError(f"`{name}` of [{where}] must be a name or a list of names, but got {value!r}")
    return tuple(value)


def _check_names(where: str, given: Mapping[str, Any], kind: type) -> None:
    known = {f.name for f in fields(kind)}
    for name in given:
        if name not in known:
            raise unknown(f"setting in {where}:", name, known)


def _plain(part: Any) -> dict[str, Any]:
    return {f.name: getattr(part, f.name) for f in fields(part) if getattr(part, f.name) != f.default}


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)
