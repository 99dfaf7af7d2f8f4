"""The description of a network in tables: a frozen value, and its TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.files import write_text
from diffmg.core.options import check_rules, check_types
from diffmg.tables.columns import Encode
from diffmg.tables.connecting import without_password

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
    encode: Encode = "by_type"
    """How columns become features: each by its type, or as the numbers they are, kept dense or sparse."""


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
    name: str | None = None
    """Name of the relation, where it is not what the description calls it: names may repeat between other types."""

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
    classes: tuple[Any, ...] | None = None
    """Classes in order; those of the column, sorted, where none are given."""
    held_back: tuple[str, ...] = ()
    """Other columns that would tell the label, and so are no features."""


@dataclass(frozen=True)
class RecommendTable:
    """Recommend along a relation: its rows are split, the observed half stays in the network."""

    relation: str
    """Name of the relation whose source is the user and whose target is the item."""
    rating: str | None = None
    """Column of ratings; without it every row counts as liked."""
    liked: float = 3.0
    """Ratings above it are positive, the others negative."""
    split: str | None = None
    """Column of train, val and test, empty for pairs that are only edges; random where there is none."""
    seed: int = 0
    metric: str = "auc"
    exempt: tuple[str, ...] = ()
    """Other relations from users to items that are known before a pair is decided, so that they may link it."""
    k: int = 20
    """Length of the list that recall@k and ndcg@k look at."""


@dataclass(frozen=True)
class Description:
    """A network in tables, and the task on it, if there is one."""

    nodes: Mapping[str, NodeTable]
    relations: Mapping[str, RelationTable]
    task: ClassifyTable | RecommendTable | None = None
    database: str | None = field(default=None, repr=False)
    """File or address of a database that holds the tables; None where they are files."""
    on_unknown: OnUnknown = "error"
    """What to do with edges to ids that are not in the node table."""
    encoding: str = "utf8"
    as_of: Mapping[str, str] = field(default_factory=dict)
    """Per `TABLE.COLUMN` of a database a time: only rows before it are read."""

    def __post_init__(self) -> None:
        check_types(self)
        for name, relation in self.relations.items():
            for end in (relation.source[0], relation.target[0]):
                if end not in self.nodes:
                    raise unknown(f"node type in relation {name!r}:", end, self.nodes)
        if isinstance(self.task, ClassifyTable):
            self._check_labels(self.task)
        if isinstance(self.task, RecommendTable) and self.task.relation not in self.relations:
            raise unknown("relation of the task:", self.task.relation, self.relations)
        if self.task is not None:
            check_rules(self.task, {"seed >= 0": self.task.seed >= 0})

    def _check_labels(self, task: ClassifyTable) -> None:
        """The labels are known, and are neither features nor edges."""
        if task.target not in self.nodes:
            raise unknown("node type of the task:", task.target, self.nodes)
        node = self.nodes[task.target]
        if node.table is None:
            raise DiffmgError(f"labels come from the table of {task.target!r}, but got a type without one")
        read = {*(node.features or ()), *node.id, *self._keys(node.table)}
        leaks = sorted(read & set(task.label))
        if leaks:
            raise DiffmgError(
                f"a label must be no feature, id or edge of the network, or the answer leaks, but got {leaks} as both"
            )

    def keys_of(self, table: str) -> set[str]:
        """Columns of a table that are ids, keys, weights, labels, ratings or splits, and so no features."""
        used = {c for n in self.nodes.values() if n.table == table for c in n.id} | self._keys(table)
        if isinstance(self.task, ClassifyTable) and self.nodes[self.task.target].table == table:
            used |= {*self.task.label, *self.task.held_back, *([self.task.split] if self.task.split else [])}
        if isinstance(self.task, RecommendTable) and self.relations[self.task.relation].table == table:
            used |= {name for name in (self.task.rating, self.task.split) if name}
        return used

    def _keys(self, table: str) -> set[str]:
        """Columns of a table that make edges."""
        there = [r for r in self.relations.values() if r.table == table]
        return {c for r in there for c in (*r.source[1:], *r.target[1:], *([r.weight] if r.weight else []))}

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of all tables, each once."""
        nodes = {node.table for node in self.nodes.values() if node.table}
        return tuple(sorted(nodes | {relation.table for relation in self.relations.values()}))


def read_description(path: Path) -> Description:
    """Read a TOML file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DiffmgError(f"a description must be a TOML file, but got no file at {str(path)!r}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiffmgError(f"a description must be TOML, but got {str(path)!r}, which is not: {error}") from error
    except OSError as error:
        raise DiffmgError(f"a description must be a file, but got {str(path)!r}: {error.strerror}") from error
    return description_from_dict(data)


def description_from_dict(data: Mapping[str, Any]) -> Description:
    """Read what `description_to_dict` wrote."""
    for part in ("nodes", "relations"):
        if not isinstance(data.get(part), dict) or not data[part]:
            raise DiffmgError(f"a description needs [nodes.TYPE] and [relations.NAME], but got no table {part!r}")
    rest = {k: v for k, v in data.items() if k not in ("nodes", "relations", "task")}
    _check_names("a description", rest, Description)
    if not isinstance(rest.get("as_of", {}), dict):
        raise DiffmgError(f"`as_of` must be a table of 'TABLE.COLUMN' = 'TIME', but got {rest['as_of']!r}")
    given = data.get("task")
    kind = RecommendTable if isinstance(given, dict) and "relation" in given else ClassifyTable
    return Description(
        {name: _part(NodeTable, f"nodes.{name}", n) for name, n in data["nodes"].items()},
        {name: _part(RelationTable, f"relations.{name}", r) for name, r in data["relations"].items()},
        None if given is None else _part(kind, "task", given),
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
    if description.database is None:
        for kind in ("nodes", "relations"):
            plain[kind] = {name: _with_file(part) for name, part in plain[kind].items()}
    else:
        plain["database"] = without_password(description.database)
    return plain if description.task is None else plain | {"task": _plain(description.task)}


def write_description(path: Path, description: Description) -> None:
    """Write a TOML file that can be read, edited and read again."""
    data = description_to_dict(description)
    lines = [f"{key} = {_toml(value)}" for key, value in data.items() if not isinstance(value, dict)]
    tables = {"as_of": data["as_of"]} if "as_of" in data else {}
    tables |= {f"nodes.{_key(name)}": n for name, n in data["nodes"].items()}
    tables |= {f"relations.{_key(name)}": r for name, r in data["relations"].items()}
    tables |= {"task": data["task"]} if "task" in data else {}
    for head, values in tables.items():
        lines += ["", f"[{head}]", *(f"{_key(k)} = {_toml(v)}" for k, v in values.items())]
    write_text(path, "\n".join(lines).lstrip("\n") + "\n")


def _part(kind: Any, where: str, data: object) -> Any:
    if not isinstance(data, dict):
        raise DiffmgError(f"[{where}] must be a table of settings, but got {data!r}")
    given = {"table" if k == "file" else k: v for k, v in data.items()}
    _check_names(f"[{where}]", given, kind)
    lists = {name: _listed(where, name, value) for name, value in given.items() if name in _LISTS}
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]
    if needed:
        raise DiffmgError(f"[{where}] must have {_spelled(needed)}, but got only {_spelled(given)}")
    try:
        part = kind(**(given | lists))
        check_types(part)
    except DiffmgError as error:
        raise DiffmgError(f"[{where}]: {error}") from error
    return part


_LISTS = ("id", "features", "source", "target", "label", "shares", "classes", "exempt", "held_back")


def _listed(where: str, name: str, value: object) -> object:
    """A list of names, or one name alone; of numbers for shares, of anything for classes."""
    if name == "target" and where == "task":
        return value
    if isinstance(value, str):
        value = [value]
    kinds: dict[str, tuple[type, ...]] = {"shares": (int, float), "classes": (object,)}
    if not isinstance(value, list) or not all(isinstance(v, kinds.get(name, (str,))) for v in value):
        what = "three numbers" if name == "shares" else "a name or a list of names"
        raise DiffmgError(f"`{name}` of [{where}] must be {what}, but got {value!r}")
    return tuple(value)


def _spelled(names: Iterable[str]) -> str:
    return ", ".join(f"`{'file' if n == 'table' else n}`" for n in names) or "nothing"


def _check_names(where: str, given: Mapping[str, Any], kind: type) -> None:
    known = {f.name for f in fields(kind)}
    for name in given:
        if name not in known:
            raise unknown(f"setting in {where}:", name, known | ({"file"} if "table" in known else set()))


def _plain(part: Any) -> dict[str, Any]:
    return {f.name: getattr(part, f.name) for f in fields(part) if getattr(part, f.name) != f.default}


def _with_file(part: Mapping[str, Any]) -> dict[str, Any]:
    """Tables that are files are called so."""
    return {"file" if name == "table" else name: value for name, value in part.items()}


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _quoted(name)


def _toml(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """A TOML string: JSON's escapes are TOML's, but for those of characters beyond 16 bits."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
