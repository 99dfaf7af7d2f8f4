"""Triples (head, relation, tail) in one table: a knowledge graph as people have it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import Checked, DiffmgError, Relation
from diffmg.core.arrow import plain
from diffmg.tables.keys import Keys, in_one_type
from diffmg.tables.reading import column, first_row, notes_of, read_table, with_notes

HEAD, RELATION, TAIL = "head", "relation", "tail"
TYPES = ("head_type", "tail_type")
NODE = "node"
"""The one node type of triples without types."""
NAMES = {
    HEAD: ("head", "h", "subject", "source", "src", "from"),
    RELATION: ("relation", "rel", "r", "predicate", "edge_type", "property"),
    TAIL: ("tail", "t", "object", "target", "dst", "to"),
    "head_type": ("head_type", "subject_type", "source_type"),
    "tail_type": ("tail_type", "object_type", "target_type"),
}
"""Usual names of the columns, in any case."""


@dataclass(frozen=True)
class Triples(Checked):
    """A table of triples: each relation that it names is a relation of the network."""

    file: str
    head: str | None = None
    """Column of the first ids; by default recognised by its name, or the first of three without a head line."""
    relation: str | None = None
    tail: str | None = None
    head_type: str | None = None
    """Column with the node type of each head; by default `head_type`, if there is one."""
    tail_type: str | None = None
    nodes: str | None = None
    """File of the nodes: an id, a type where there are several, and columns that become features."""
    id: str | None = None
    """Its column of ids; by default the first."""
    type: str | None = None
    """Its column of node types; by default `type`, if there is one."""
    weight: str | None = None
    """Column of edge weights."""

    def read(self, folder: Path, encoding: str) -> pa.Table:
        """The table of the file, its columns named head, relation, tail, and head_type and tail_type if it has them."""
        path = folder / self.file
        row = first_row(path, encoding)
        if row is None or self._found(row) is not None:
            return self.named(read_table(path, encoding))
        if len(row) != 3 or any((self.head, self.relation, self.tail)):
            raise self._no_columns(row)
        table = read_table(path, encoding, (HEAD, RELATION, TAIL))
        return with_notes(table, [f"{self.file}: three columns without a head line"])

    def named(self, table: pa.Table) -> pa.Table:
        """The table with its columns renamed to what they are."""
        found = self._found(table.column_names)
        if found is None:
            raise self._no_columns(table.column_names)
        roles = {name: role for role, name in found.items()}
        return table.rename_columns([roles.get(name, name) for name in table.column_names])

    def _found(self, columns: Sequence[str]) -> dict[str, str] | None:
        """The column of each role; None if one of the three is missing."""
        usual = {role: next((c for c in columns if c.lower() in names), None) for role, names in NAMES.items()}
        found = {role: getattr(self, role) or name for role, name in usual.items()}
        if not all(found[role] in columns for role in (HEAD, RELATION, TAIL)):
            return None
        return {role: name for role, name in found.items() if name is not None}

    def _no_columns(self, columns: Sequence[str]) -> DiffmgError:
        return DiffmgError(
            "triples have columns head, relation and tail, or three columns and no head line, "
            f"but got {list(columns)} in {self.file!r}; name them: head = ..., relation = ..., tail = ... in [triples]"
        )

    def node_columns(self, nodes: pa.Table) -> tuple[str, str | None]:
        """Columns of ids and of types in the table of the nodes; the latter is None if there is none."""
        own = self.id or nodes.column_names[0]
        types = self.type or next((c for c in nodes.column_names if c.lower() in ("type", "node_type")), None)
        for name in filter(None, (own, types)):
            column(nodes, name, f"the nodes of the triples {self.nodes!r}")
        return own, types

    def typed(self, table: pa.Table, nodes: pa.Table | None, *, drop: bool) -> pa.Table:
        """The triples with columns of node types; those of the table of nodes where the triples have none."""
        missing = table.column(RELATION).null_count
        if missing:
            table = with_notes(table, [*notes_of(table), f"{self.file}: {missing} rows without a relation, left out"])
        if {*TYPES} <= {*table.column_names}:
            return table
        if {*TYPES} & {*table.column_names}:
            raise DiffmgError(f"triples have types of heads and of tails, but got only one of {list(TYPES)}")
        own, types = (None, None) if nodes is None else self.node_columns(nodes)
        if nodes is None or own is None or types is None:
            one = pa.array([NODE] * table.num_rows)
            return table.append_column(TYPES[0], one).append_column(TYPES[1], one)
        for end, name in zip((HEAD, TAIL), TYPES, strict=True):
            keys = [Keys.read(nodes, [own], "the nodes of the triples"), Keys.read(table, [end], "the triples")]
            known, wanted = in_one_type("the triples and their nodes", keys)
            found = plain(nodes.column(types)).cast(pa.string()).take(pc.index_in(wanted, value_set=known))
            _check_typed(found, wanted, str(self.nodes), drop=drop)
            table = table.append_column(name, found)
        return table


def _check_typed(found: pa.ChunkedArray, ids: pa.ChunkedArray, file: str, *, drop: bool) -> None:
    without = ids.filter(found.is_null()).drop_null().unique()
    if len(without) and not drop:
        raise DiffmgError(
            f"every node of the triples needs a type, but got {len(without)} ids without one in {file!r}, such as "
            f"{without[:3].to_pylist()}; add them, or leave their triples out with on_unknown = 'drop'"
        )


def relations_of_triples(triples: Triples, table: pa.Table) -> dict[str, dict[str, Any]]:
    """The relations that typed triples name, each with its rows, as [relations.NAME] of a description."""
    texts = {name: plain(table.column(name)).cast(pa.string()) for name in (TYPES[0], RELATION, TYPES[1])}
    kinds = pa.table(texts).group_by(list(texts)).aggregate([]).drop_null().to_pylist()
    found = [Relation(*(row[name] for name in texts)) for row in kinds]
    names = [relation.name for relation in found]
    relations = {}
    for relation in sorted(found, key=lambda r: (r.name, r.source, r.target)):
        alone = names.count(relation.name) == 1
        where = dict(zip(texts, (relation.source, relation.name, relation.target), strict=True))
        own: dict[str, Any] = {"file": triples.file, "where": where, "name": None if alone else relation.name}
        own |= {"source": [relation.source, HEAD], "target": [relation.target, TAIL], "weight": triples.weight}
        relations[relation.name if alone else str(relation)] = {k: v for k, v in own.items() if v is not None}
    return relations


def nodes_of_triples(
    triples: Triples, relations: Mapping[str, Mapping[str, Any]], nodes: pa.Table | None
) -> dict[str, dict[str, Any]]:
    """The node types of these relations, as [nodes.TYPE] of a description."""
    types = sorted({str(r[end][0]) for r in relations.values() for end in ("source", "target")})
    if nodes is None:
        return {t: {} for t in types}
    own, kind = triples.node_columns(nodes)
    return {t: {"file": triples.nodes, "id": own} | ({"where": {kind: t}} if kind else {}) for t in types}
