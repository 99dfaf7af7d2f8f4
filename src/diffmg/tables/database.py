"""A database becomes a description of tables, and its rows the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from diffmg.core import DiffmgError, unknown
from diffmg.tables.catalogue import DatabaseTable, read_catalogue
from diffmg.tables.connecting import connected, without_password
from diffmg.tables.description import Description
from diffmg.tables.joins import ROW_NUMBER, linked_to, nodes_of, relations_of
from diffmg.tables.leakage import held_back
from diffmg.tables.rows import read_rows
from diffmg.tables.selecting import Tables, has_rows, kind_of, select_rows, split_name, times_of
from diffmg.tasks.node_classification import ClassificationSpec

if TYPE_CHECKING:
    from sqlalchemy import Connection


def describe_database(
    address: str, target: str, *, as_of: Mapping[str, str] | None = None, seed: int = 0
) -> Description:
    """Describe the tables of a database as a network, and `target`, a `TABLE.COLUMN`, as the label.

    `address` is a file of SQLite or DuckDB, or the address of a server such as `postgresql://user@server/name`. It is
    only read. `as_of` maps `COLUMN` or `TABLE.COLUMN` to a time: only rows before it are read (rows without a time are
    not), and edges to rows that are not read are dropped. Tables become node types with the primary key as id; a table
    without a key numbers its rows. Foreign keys become relations, and tables of two foreign keys and no more than keys
    become direct relations. Tables without rows, and tables that no chain of keys links to the target, are left out.
    The label, columns whose names hold its stem, and keys made of these, are neither features nor relations.
    """
    with connected(address) as connection:
        tables = _catalogue(connection, address)
        name, label = _target(target, tables)
        hidden = held_back(label, tables[name].columns)
        leaking = [key for key in tables[name].foreign if {label, *hidden} & {*key.columns}]
        tables[name] = tables[name].without(leaking)
        times = times_of(as_of or {}, tables)
        if not has_rows(connection, tables[name], (), times.get(name, {})):
            raise _no_rows(name, times)
        tables = linked_to(name, _with_rows(connection, tables, times))
    relations = relations_of(tables, name)
    if not relations:
        raise DiffmgError(
            f"foreign keys must link {name!r} to other tables with rows, but got none; "
            "declare keys in the database, or describe the relations in a TOML file"
        )
    return Description(
        nodes_of(tables, name, frozenset({label, *hidden})),
        relations,
        ClassificationSpec(name, (label,), held_back=hidden, seed=seed),
        database=address,
        on_unknown="drop" if as_of else "error",
        as_of={f"{t}.{column}": time for t in tables for column, time in times.get(t, {}).items()},
    )


def read_database(description: Description) -> dict[str, pa.Table]:
    """Read what a description names, rows in the order of their ids."""
    if description.database is None:
        raise DiffmgError("a description must name its database to be read from it, but got database=None")
    with connected(description.database) as connection:
        tables = _catalogue(connection, description.database)
        times = times_of(description.as_of, tables)
        read = {}
        for name in description.tables:
            if name not in tables:
                raise unknown("table of the database:", name, tables)
            read[name] = _read(connection, name, description, tables, times.get(name, {}))
    for name in description.task.columns(description) if description.task else ():
        if not read[name].num_rows:
            raise _no_rows(name, times)
    return read


def _catalogue(connection: Connection, address: str) -> dict[str, DatabaseTable]:
    tables = read_catalogue(connection)
    if not tables:
        raise DiffmgError(f"a database must have tables, but got none in {without_password(address)!r}")
    return tables


def _target(target: str, tables: Tables) -> tuple[str, str]:
    """Table and column of the label."""
    if "." not in target:
        raise DiffmgError(f"a target is TABLE.COLUMN, but got {target!r}; tables: {', '.join(tables)}")
    name, label = split_name(target, tables) or (target.rpartition(".")[0], "")
    if name not in tables:
        raise unknown("table of the target:", name, tables)
    if label not in tables[name].columns:
        raise unknown(f"column of table {name!r}:", label, tables[name].columns)
    if label in tables[name].primary or tables[name].columns[label] == "other":
        raise DiffmgError(
            f"a label is a column of classes, but got {target!r}, "
            + ("a part of the primary key" if label in tables[name].primary else "whose type is none")
        )
    return name, label


def _with_rows(connection: Connection, tables: Tables, times: Mapping[str, Mapping[str, str]]) -> Tables:
    """Tables that have rows, with the foreign keys that any row has: a relation needs an edge."""
    kept = {n: t for n, t in tables.items() if has_rows(connection, t, (), times.get(n, {}))}
    for name, table in kept.items():
        empty = [
            key
            for key in table.foreign
            if key.table not in kept or not has_rows(connection, table, key.columns, times.get(name, {}))
        ]
        kept[name] = table.without(empty)
    return kept


def _read(
    connection: Connection, name: str, description: Description, tables: Tables, times: Mapping[str, str]
) -> pa.Table:
    """A table in the order of its ids, so that any database numbers the nodes alike."""
    table = tables[name]
    node = next((n for n in description.nodes.values() if n.table == name), None)
    ids = list(node.id or [*table.columns][:1]) if node else []
    numbered = ROW_NUMBER in ids and ROW_NUMBER not in table.columns
    columns = [c for c in _wanted(description, table) if not (numbered and c == ROW_NUMBER)]
    kinds = [kind_of(table, c, tables) for c in columns]
    found = read_rows(connection, select_rows(connection, table, columns, tables, times), columns, kinds)
    order = columns if numbered else ids
    found = found.sort_by([(c, "ascending") for c in order]) if order else found
    return found.append_column(ROW_NUMBER, pa.array(range(found.num_rows), pa.int64())) if numbered else found


def _wanted(description: Description, table: DatabaseTable) -> list[str]:
    """Columns of a table that the description uses, each once."""
    wanted: dict[str, None] = {}
    for node in description.nodes.values():
        if node.table == table.name:
            rest = [c for c, kind in table.columns.items() if kind != "other" and c not in table.keys]
            features = rest if node.features is None else node.features
            wanted |= dict.fromkeys((*(node.id or [*table.columns][:1]), *features))
    keys = description.keys_of(table.name) - {*(description.task.held_back if description.task else ())}
    return list(wanted | dict.fromkeys(sorted(keys)))


def _no_rows(table: str, times: Mapping[str, Mapping[str, str]]) -> DiffmgError:
    before = " and ".join(f"{column} < {time}" for column, time in times.get(table, {}).items())
    return DiffmgError(
        f"the table of the target must have rows, but got none in {table!r}" + (f" where {before}" if before else "")
    )
