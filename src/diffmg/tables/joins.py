"""Tables and keys become node types and relations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from diffmg.tables.catalogue import DatabaseTable, ForeignKey
from diffmg.tables.description import NodeTable, RelationTable
from diffmg.tables.selecting import Tables

ROW_NUMBER = "row number"
"""Stands for the id of a table that has no key."""


def linked_to(target: str, tables: Tables) -> dict[str, DatabaseTable]:
    """The tables that keys link to the target, near or far; others cannot tell anything about it."""
    pairs = [(t.name, key.table) for t in tables.values() for key in t.foreign]
    found = {target}
    while new := {t for pair in pairs if found & {*pair} for t in pair} - found:
        found |= new
    return {name: table for name, table in tables.items() if name in found}


def nodes_of(tables: Tables, target: str, hidden: frozenset[str]) -> dict[str, NodeTable]:
    """Every table but pure links is a node type; the hidden columns of the target are no features."""
    nodes = {}
    for name, table in tables.items():
        if not _is_link(table, tables, target):
            no_features = table.keys.union(_id(table, tables), hidden if name == target else ())
            features = tuple(c for c, kind in table.columns.items() if kind != "other" and c not in no_features)
            nodes[name] = NodeTable(name, _id(table, tables), features)
    return nodes


def relations_of(tables: Tables, target: str) -> dict[str, RelationTable]:
    """Every foreign key is a relation, every pure link table is one between the two tables it links."""
    drafts = list(_drafts(tables, target))
    count = Counter(short for short, _, _ in drafts)
    relations: dict[str, RelationTable] = {}
    for short, long, relation in drafts:
        name = short if count[short] == 1 else long
        while name in relations or name.removeprefix("rev_") in relations or f"rev_{name}" in relations:
            name += "_2"
        relations[name] = relation
    return relations


def _drafts(tables: Tables, target: str) -> Iterator[tuple[str, str, RelationTable]]:
    """A short and a long name for each relation."""
    for name, table in tables.items():
        ends = [(key.table, *_columns(key, tables)) for key in table.foreign]
        if _is_link(table, tables, target):
            yield name, name, RelationTable(name, ends[0], ends[1])
            continue
        for key, end in zip(table.foreign, ends, strict=True):
            short = _short(key)
            yield short, f"{name}_{short}", RelationTable(name, (name, *_id(table, tables)), end)


def _is_link(table: DatabaseTable, tables: Tables, target: str) -> bool:
    """Two foreign keys, nothing but keys, and nothing refers to it: a row is an edge, not a thing.

    With any other column, such as a quantity, the table stays a node type and the column a feature.
    """
    bare = len(table.foreign) == 2 and table.keys == set(table.columns)
    referred = any(key.table == table.name for t in tables.values() for key in t.foreign)
    return bare and not referred and table.name != target


def _id(table: DatabaseTable, tables: Tables) -> tuple[str, ...]:
    """The primary key; without one, the key that others refer to; without that, the number of the row."""
    if table.primary:
        return table.primary
    referred = sorted({key.refers for t in tables.values() for key in t.foreign if key.table == table.name})
    return referred[0] if referred else (ROW_NUMBER,)


def _columns(key: ForeignKey, tables: Tables) -> list[str]:
    """The columns that hold the id of the row referred to; through the key where it refers to other columns."""
    ids = _id(tables[key.table], tables)
    own = dict(zip(key.refers, key.columns, strict=True))
    if own.keys() == set(ids):
        return [own[c] for c in ids]
    return [f"{','.join(key.columns)}.{c}" for c in ids]


def _short(key: ForeignKey) -> str:
    """`customer_id` leads to the `customer`; several columns lead to the table."""
    if len(key.columns) > 1:
        return key.table
    return re.sub(r"(?<=.)(_id|_fk|(?<=[a-z])I[dD])$", "", key.columns[0])
