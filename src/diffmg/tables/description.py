"""The description of a network in tables: a frozen value, and its TOML format."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from diffmg.core import TASKS, Checked, DiffmgError, TaskSpec, unknown
from diffmg.core.codec import check_format, from_plain, read_toml, to_plain, to_toml
from diffmg.core.files import is_file_name, write_text
from diffmg.core.options import check_names
from diffmg.core.trust import check_inside, named_by_file
from diffmg.tables.connecting import without_password
from diffmg.tables.encoding import Encode
from diffmg.tables.expanding import with_relations
from diffmg.tables.times import period
from diffmg.tables.triples import Triples
from diffmg.tables.windows import Moments, WindowTable

FORMAT = 1
PARTS = ("nodes", "relations", "task", "moments", "windows", "triples")
"""Fields of a description that are tables of their own."""
OnUnknown = Literal["error", "drop"]


@dataclass(frozen=True)
class NodeTable(Checked):
    """Where the nodes of a type come from."""

    table: str | None = None
    """File, or table of the database; None if the nodes are the ids that occur in relations."""
    id: tuple[str, ...] = ()
    """Columns that identify a node; by default the first column."""
    features: tuple[str, ...] | None = None
    """Columns that become features; by default all but ids, keys, labels and splits."""
    encode: Encode = "by_type"
    """How columns become features: each by its type, or numbers unchanged, as a dense or sparse matrix."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Maps columns to values: only rows with these values are nodes of this type."""
    time: str | None = None
    """In a timed network, the column with the time from which a row is known."""
    time_of: tuple[str, ...] = ()
    """In a timed network, relations to the rows whose time it inherits, the latest of them: undated children."""
    delay: str | None = None
    """In a timed network, how long after its time a row is known, such as 30d."""


@dataclass(frozen=True)
class RelationTable(Checked):
    """Where the edges of a relation come from: one edge per row."""

    table: str
    source: tuple[str, ...]
    """Node type, then the columns that hold its ids."""
    target: tuple[str, ...]
    weight: str | None = None
    both: bool = True
    """Whether the reverse relation is added."""
    name: str | None = None
    """Name of the relation, if not its key in the description: relations between other types may share names."""
    split: str | None = None
    """What separates several target ids in one cell, or `json` for JSON lists: one edge for each of them."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Maps columns to values: only rows with these values are edges."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split is not None and (not self.split or len(self.target) != 2):
            raise DiffmgError(
                "`split` is a text between the ids in the one column of the target, "
                f"but got {self.split!r} for the columns {list(self.target[1:])}"
            )
        for name, end in (("source", self.source), ("target", self.target)):
            if len(end) < 2:
                raise DiffmgError(f"`{name}` must be [node type, column, ...], but got {list(end)}")


@dataclass(frozen=True)
class Description(Checked):
    """A network in tables, and optionally a task on it."""

    nodes: Mapping[str, NodeTable]
    relations: Mapping[str, RelationTable]
    task: TaskSpec | None = None
    database: str | None = field(default=None, repr=False)
    """File or address of the database with the tables; None if they are files."""
    on_unknown: OnUnknown = "error"
    """What to do with edges to ids that are not in the node table."""
    encoding: str = "utf8"
    as_of: Mapping[str, str] = field(default_factory=dict)
    """Maps `TABLE.COLUMN` of a database to a time: only rows before it are read."""
    moments: Moments | None = None
    """The predictions of a timed task; None if nothing is timed."""
    windows: Mapping[str, WindowTable] = field(default_factory=dict)
    """Relations by time."""
    triples: Triples | None = None
    """A file of triples, which relations are rows of."""
    notes: tuple[str, ...] = ()
    """What people should know of it, such as which keys were guessed; among the notes of the network."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_times()
        for name, relation in self.relations.items():
            for end in (relation.source[0], relation.target[0]):
                if end not in self.nodes:
                    raise unknown(f"node type in relation {name!r}:", end, self.nodes)
        if self.task is not None:
            self.task.check(self)

    def _check_times(self) -> None:
        """A timed network says when its rows are known and its predictions made; others have neither."""
        timed = [t for t, node in self.nodes.items() if node.time or node.time_of]
        for node in self.nodes.values():
            if node.delay is not None and period(node.delay) and not (node.time or node.time_of):
                raise DiffmgError(f"a delay is for rows with a time, but got delay={node.delay!r} for {node.table!r}")
        if self.moments is None:
            if timed or self.windows:
                raise DiffmgError(
                    f"times and windows are for a timed task, but got {timed or [*self.windows]} without [moments]"
                )
            return
        self.table_of(self.moments.target)
        if not timed:
            raise DiffmgError(
                f"[moments] is for a network whose rows have a time, but got none; name a column of dates with `time` "
                f"in one of {', '.join(f'[nodes.{t}]' for t in self.nodes if t != self.moments.target)}"
            )
        if self.moments.validation is not None and getattr(self.task, "split", None) is not None:
            raise DiffmgError("predictions are split by a column or by two dates, but got `split` and `validation`")
        if self.moments.target in timed:
            raise DiffmgError(f"predictions have a moment and no time, but got both for {self.moments.target!r}")
        for name, window in self.windows.items():
            for end in (window.source[0], window.target[0]):
                self.table_of(end)
            if window.source[0] not in timed or window.target[0] not in (*timed, self.moments.target):
                raise DiffmgError(
                    f"windows join rows that have a time, but got {window.source[0]!r} and {window.target[0]!r} "
                    f"in window {name!r}; rows with a time: {timed}"
                )
        for t in timed:
            for relation in self.nodes[t].time_of:
                self.relation_table(relation)

    def table_of(self, node_type: str) -> str | None:
        """The table of a node type; None if its nodes are the ids that occur in relations."""
        if node_type not in self.nodes:
            raise unknown("node type of the task:", node_type, self.nodes)
        return self.nodes[node_type].table

    def relation_table(self, relation: str) -> str:
        """The table of a relation."""
        if relation not in self.relations:
            raise unknown("relation of the task:", relation, self.relations)
        return self.relations[relation].table

    def columns_in_use(self, table: str) -> set[str]:
        """Columns of a table used as ids, named features, or for edges; not those of rows that are known later."""
        own = {c for n in self.nodes.values() if n.table == table for c in n.id}
        own |= {c for n in self.nodes.values() if n.table == table and not n.delay for c in n.features or ()}
        return own | self._edge_columns(table) | self._time_columns(table)

    def keys_of(self, table: str) -> set[str]:
        """Columns of a table that are ids, keys, weights, labels, ratings or splits, so not features."""
        ids = {c for n in self.nodes.values() if n.table == table for c in n.id}
        for_task = {} if self.task is None else self.task.columns(self)
        wheres = {c for n in self.nodes.values() if n.table == table for c in n.where}
        return ids | wheres | self._edge_columns(table) | self._time_columns(table) | for_task.get(table, set())

    def query_of(self, table: str) -> str | None:
        """The SELECT that gives a table; None for a table or file of this name."""
        if self.moments is None or self.nodes[self.moments.target].table != table:
            return None
        return self.moments.query

    def features_of(self, node_type: str, columns: Sequence[str]) -> list[str]:
        """Which of a table's columns become features of a type."""
        node = self.nodes[node_type]
        if node.features is not None:
            return [*node.features]
        keys = {*(node.id or columns[:1]), *self.keys_of(node.table or "")} - self._free_parts(node)
        return [name for name in columns if name not in keys]

    def _free_parts(self, node: NodeTable) -> set[str]:
        """Columns of an id of several that refer to no other node, such as a year or a line number: features too."""
        if len(node.id) < 2:
            return set()
        table = node.table or ""
        for_task = {} if self.task is None else self.task.columns(self)
        taken = self._edge_columns(table, node.id) | self._time_columns(table) | for_task.get(table, set())
        return {*node.id} - taken

    def _edge_columns(self, table: str, own: tuple[str, ...] = ()) -> set[str]:
        """Columns of a table with the ends and weights of edges; ends that are the row itself, by `own`, left out."""
        relations = [r for r in self.relations.values() if r.table == table]
        ends = {c for r in relations for end in (r.source[1:], r.target[1:]) if not own or end != own for c in end}
        return ends | {c for r in relations for c in (r.weight, *r.where) if c is not None}

    def _time_columns(self, table: str) -> set[str]:
        """Columns with times, and keys of windows."""
        of = {t for t, n in self.nodes.items() if n.table == table}
        ends = [end for w in self.windows.values() for end in (w.source, w.target)]
        moments = {self.moments.column} if self.moments is not None and self.moments.target in of else set()
        times = {time for t in of if (time := self.nodes[t].time) is not None}
        return {c for end in ends if end[0] in of for c in end[1:]} | times | moments

    @property
    def tables(self) -> tuple[str, ...]:
        """Unique names of all tables."""
        nodes = {node.table for node in self.nodes.values() if node.table}
        return tuple(sorted(nodes | {relation.table for relation in self.relations.values()}))


def read_description(path: Path) -> Description:
    """Read a TOML file; triples that it names become node types and relations."""
    data = read_toml(path, "a description")
    for name in _files_in(data):
        check_inside(name, path.parent)
    return description_from_dict(with_relations(data, path.parent))


def _files_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Names of files in a description as plain values; what is no name is told of later."""
    address, triples = data.get("database"), data.get("triples")
    found: list[Any] = [address] if isinstance(address, str) and "://" not in address else []
    found += [triples.get("file"), triples.get("nodes")] if isinstance(triples, dict) else []
    for part in (data.get("nodes"), data.get("relations")):
        tables = [t for t in part.values() if isinstance(t, dict)] if isinstance(part, dict) else []
        found += [t.get("file", t.get("table")) for t in tables]
    for name in found:
        if isinstance(name, str) and (address is None or name == address or is_file_name(name)):
            yield name


def description_from_dict(data: Mapping[str, Any]) -> Description:
    """Read what `description_to_dict` wrote; without `format`, the current one is assumed."""
    given = check_format({"format": FORMAT, **data}, FORMAT, "a description")
    for part in ("nodes", "relations"):
        if not isinstance(given.get(part), dict) or not given[part]:
            raise DiffmgError(f"a description needs [nodes.TYPE] and [relations.NAME], but got no table {part!r}")
    check_names(given, Description, "setting in a description:")
    if not isinstance(given.get("as_of", {}), dict):
        raise DiffmgError(f"`as_of` must be a table of 'TABLE.COLUMN' = 'TIME', but got {given['as_of']!r}")
    nodes, relations, task = given.pop("nodes"), given.pop("relations"), given.pop("task", None)
    windows, moments, triples = given.pop("windows", {}), given.pop("moments", None), given.pop("triples", None)
    if "notes" in given:
        given["notes"] = from_plain(tuple[str, ...], given["notes"], "`notes`")
    named_by_file(given["database"] if isinstance(given.get("database"), str) else None)
    if not isinstance(windows, dict):
        raise DiffmgError(f"relations by time are tables [windows.NAME], but got {windows!r}")
    return Description(
        {name: from_plain(NodeTable, _with_table(n), f"[nodes.{name}]") for name, n in nodes.items()},
        {name: from_plain(RelationTable, _with_table(r), f"[relations.{name}]") for name, r in relations.items()},
        None if task is None else _task(task),
        windows={name: from_plain(WindowTable, w, f"[windows.{name}]") for name, w in windows.items()},
        moments=None if moments is None else from_plain(Moments, moments, "[moments]"),
        triples=None if triples is None else from_plain(Triples, triples, "[triples]"),
        **given,
    )


def description_to_dict(description: Description) -> dict[str, Any]:
    """As plain values; defaults are left out."""
    plain = {"format": FORMAT} | _plain(description)
    for kind in ("nodes", "relations"):
        parts = {name: _plain(part) for name, part in getattr(description, kind).items()}
        table = "table" if description.database else "file"
        plain[kind] = {n: {table if k == "table" else k: v for k, v in part.items()} for n, part in parts.items()}
    if description.moments is not None:
        plain["moments"] = _plain(description.moments)
    if description.triples is not None:
        plain["triples"] = _plain(description.triples)
    if description.windows:
        plain["windows"] = {name: _plain(window) for name, window in description.windows.items()}
    if description.database is not None:
        plain["database"] = without_password(description.database)
    if description.task is not None:
        plain["task"] = _plain(description.task)
        if _kind_of(plain["task"]) is not type(description.task):
            kind = next(name for name, task in TASKS.items() if task.spec is type(description.task))
            plain["task"] = {"kind": kind} | plain["task"] | {"kind": kind}
    return plain


def write_description(path: Path, description: Description) -> None:
    """Write a TOML file that can be read, edited and read again."""
    write_text(path, to_toml(description_to_dict(description)))


def _task(given: Any) -> TaskSpec:
    if not isinstance(given, dict):
        raise DiffmgError(f"[task] must be a table of settings, but got {given!r}")
    kind = TASKS.get(given["kind"]).spec if isinstance(given.get("kind"), str) else _kind_of(given)
    if kind is None:
        kinds = ", ".join(map(repr, TASKS.names()))
        raise DiffmgError(
            f"a [task] has `target` and `label`, or `relation`, or says its `kind` (one of {kinds}), "
            f"but got only {', '.join(given) or 'nothing'}"
        )
    told = any(f.name == "kind" for f in fields(kind))  # type: ignore[arg-type]  # a spec is a dataclass
    return from_plain(kind, {name: v for name, v in given.items() if name != "kind" or told}, "[task]")


def _kind_of(given: Mapping[str, Any]) -> type[TaskSpec] | None:
    return next((task.spec for _, task in TASKS.items() if task.spec.matches(given)), None)


def _plain(part: Any) -> dict[str, Any]:
    """The fields that differ from their defaults; tuples of one string become the string."""
    plain = {}
    for f in fields(part):
        value = getattr(part, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if not (f.name in PARTS and isinstance(part, Description)) and value != default and value is not None:
            one = isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], str)
            plain[f.name] = value[0] if one else to_plain(value)
    return plain


def _with_table(data: object) -> object:
    """Accept `file` as another name of `table`."""
    return {"table" if k == "file" else k: v for k, v in data.items()} if isinstance(data, dict) else data
