"""Derives a description of tables from a database, and reads the tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from diffmg.core import DiffmgError, unknown
from diffmg.core.arrow import sorted_by
from diffmg.core.files import is_file_name
from diffmg.core.steps import step
from diffmg.tables.as_of import as_of_notes, latest_of
from diffmg.tables.catalogue import DatabaseTable, ForeignKey, read_catalogue
from diffmg.tables.connecting import connected, without_password
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.guessing import Guess, are_exact, guess_notes, kept_guesses, with_guessed_keys
from diffmg.tables.keys import repeats
from diffmg.tables.leakage import held_back
from diffmg.tables.reading import with_notes
from diffmg.tables.rows import (
    Tables,
    Times,
    counts_of,
    has_rows,
    kind_of,
    read_query,
    read_rows,
    select_rows,
    split_name,
    times_of,
)
from diffmg.tasks.node_classification import ClassificationSpec

if TYPE_CHECKING:
    from sqlalchemy import Connection


ROW_NUMBER = "row number"
"""Id column of tables without a key."""


def describe_database(address: str, target: str, *, as_of: Times | None = None, seed: int = 0) -> Description:
    """Describe the tables of a database as a network, and `target`, a `TABLE.COLUMN`, as the label.

    `address` is a file of SQLite or DuckDB, or the address of a server such as `postgresql://user@server/name`. It is
    opened read-only. `as_of` maps `COLUMN` or `TABLE.COLUMN` to a time: only rows before it are read (rows without a
    time are not; a bare date stands for the end of its day), and edges to other rows are dropped. Tables become node
    types with the primary key as id; tables without a key use row numbers. Foreign keys become relations; tables with
    two foreign keys and no columns other than keys become direct relations. Tables without rows, or not linked to the
    target by keys, are left out. Where no foreign key is declared, keys are guessed, with the evidence in `notes`. The
    label, columns whose names contain its stem, and keys made of these are neither features nor relations. Several
    labels are `TABLE.COLUMN,COLUMN`.
    """
    with connected(address) as connection:
        tables = _catalogue(connection, address)
        name, labels = _target(target, tables)
        tables, guesses = with_guessed_keys(connection, tables, [(name, label) for label in labels])
        telling = (c for label in labels for c in held_back(label, tables[name].columns) if c not in labels)
        hidden = tuple(dict.fromkeys(telling))
        leaking = [key for key in tables[name].foreign if {*labels, *hidden} & {*key.columns}]
        tables[name] = tables[name].without(leaking)
        times = times_of(as_of or {}, tables)
        if not has_rows(connection, tables[name], (), times.get(name, {})):
            raise _no_rows(name, times)
        found, tables = tables, linked_to(name, with_rows(connection, tables, times))
    guesses = kept_guesses(guesses, tables)
    relations = relations_of(tables, name)
    if not relations:
        nearest = "".join(f" ({guess})" for guess in guesses if isinstance(guess, Guess))
        raise DiffmgError(
            f"foreign keys must link {name!r} to other tables with rows, but got none, and none could be guessed from "
            f"names and values{nearest}; declare keys in the database, or describe the relations in a TOML file"
        )
    return Description(
        nodes_of(tables, name, frozenset({*labels, *hidden})),
        relations,
        ClassificationSpec(name, labels, held_back=hidden, seed=seed),
        database=address,
        on_unknown="drop" if as_of or not are_exact(guesses) else "error",
        as_of={f"{t}.{column}": time for t in tables for column, time in times.get(t, {}).items()},
        notes=(*guess_notes(guesses), *left_out_notes(found, name, tables)),
    )


def read_database(description: Description) -> dict[str, pa.Table]:
    """Read the tables that a description names, rows sorted by id; those that are files beside it are left out."""
    if description.database is None:
        raise DiffmgError("a description must name its database to be read from it, but got database=None")
    with connected(description.database) as connection:
        tables = _catalogue(connection, description.database)
        times = times_of(description.as_of, tables)
        read = {}
        for number, name in enumerate(description.tables, 1):
            step(f"reading table {number} of {len(description.tables)}: {name}")
            if description.query_of(name) is not None:
                read[name] = read_query(connection, str(description.query_of(name)))
            elif name in tables:
                read[name] = _read(connection, name, description, tables, times.get(name, {}))
                if times and (latest := latest_of(times)):
                    unused = description.task.columns(description).get(name, ()) if description.task else ()
                    notes = as_of_notes(connection, tables[name], times.get(name, {}), latest, unused)
                    read[name] = with_notes(read[name], notes)
            elif not is_file_name(name):
                raise unknown("table of the database:", name, tables)
    for name in description.task.columns(description) if description.task else ():
        if name in read and not read[name].num_rows:
            raise _no_rows(name, times)
    return read


def linked_to(target: str, tables: Tables) -> dict[str, DatabaseTable]:
    """The tables connected to the target by any chain of keys; others carry no information about it."""
    pairs = [(t.name, key.table) for t in tables.values() for key in t.foreign]
    found = {target}
    while new := {t for pair in pairs if found & {*pair} for t in pair} - found:
        found |= new
    return {name: table for name, table in tables.items() if name in found}


def left_out_notes(found: Tables, target: str, used: Tables) -> tuple[str, ...]:
    """Which of the tables that were found are not used, for people."""
    rest = ", ".join(name for name in found if name not in used)
    return (f"tables without rows, or that no key links to {target}, are left out: {rest}",) if rest else ()


def nodes_of(tables: Tables, target: str, hidden: frozenset[str]) -> dict[str, NodeTable]:
    """Every table except pure link tables is a node type; hidden columns of the target are not features."""
    nodes = {}
    for name, table in tables.items():
        if not _is_link(table, tables, target):
            own = _id(table, tables)
            no_features = _no_features(table, own).union(hidden if name == target else ())
            features = tuple(c for c, kind in table.columns.items() if kind != "other" and c not in no_features)
            nodes[name] = NodeTable(name, own, features)
    return nodes


def _no_features(table: DatabaseTable, own: tuple[str, ...]) -> frozenset[str]:
    """Keys; but parts of a key that refer to nothing and repeat, such as a year or a line number, are features."""
    foreign = {c for key in table.foreign for c in key.columns}
    return (table.keys | {*own}) - {c for c in own if len(own) > 1 and c not in foreign}


def relations_of(tables: Tables, target: str) -> dict[str, RelationTable]:
    """Every foreign key is a relation; a pure link table is a relation between the two tables it links."""
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
        ends = [(key.table, *columns_of(key, tables)) for key in table.foreign]
        if _is_link(table, tables, target):
            yield name, name, RelationTable(name, ends[0], ends[1])
            continue
        for key, end in zip(table.foreign, ends, strict=True):
            short = short_name(key)
            yield short, f"{name}_{short}", RelationTable(name, (name, *_id(table, tables)), end)


def _is_link(table: DatabaseTable, tables: Tables, target: str) -> bool:
    """Whether a table is a pure link: two foreign keys, no other columns, not referred to; its rows are edges.

    With any other column, such as a quantity, the table stays a node type and the column a feature.
    """
    bare = len(table.foreign) == 2 and table.keys == set(table.columns)
    referred = any(key.table == table.name for t in tables.values() for key in t.foreign)
    return bare and not referred and table.name != target


def _id(table: DatabaseTable, tables: Tables) -> tuple[str, ...]:
    """The primary key, else the key that other tables refer to, else the row number."""
    if table.primary:
        return table.primary
    referred = sorted({key.refers for t in tables.values() for key in t.foreign if key.table == table.name})
    return referred[0] if referred else (ROW_NUMBER,)


def columns_of(key: ForeignKey, tables: Tables) -> list[str]:
    """The columns with the id of the referenced row; joined through the key if it refers to other columns."""
    ids = _id(tables[key.table], tables)
    own = dict(zip(key.refers, key.columns, strict=True))
    if own.keys() == set(ids):
        return [own[c] for c in ids]
    return [f"{','.join(key.columns)}.{c}" for c in ids]


def short_name(key: ForeignKey) -> str:
    """Short relation name: `customer` for `customer_id`; the table's name for keys of several columns."""
    if len(key.columns) > 1:
        return key.table
    return re.sub(r"(?<=.)(_id|_fk|(?<=[a-z])I[dD])$", "", key.columns[0])


def _catalogue(connection: Connection, address: str) -> dict[str, DatabaseTable]:
    tables = read_catalogue(connection)
    if not tables:
        raise DiffmgError(f"a database must have tables, but got none in {without_password(address)!r}")
    return tables


def _target(target: str, tables: Tables) -> tuple[str, tuple[str, ...]]:
    """Table and columns of the labels."""
    if "." not in target:
        raise DiffmgError(f"a target is TABLE.COLUMN, but got {target!r}; tables: {', '.join(tables)}")
    name, column = split_name(target, tables) or (target.rpartition(".")[0], "")
    if name not in tables:
        raise unknown("table of the target:", name, tables)
    labels = (column,) if column in tables[name].columns else tuple(c.strip() for c in column.split(","))
    for label in labels:
        _check_label(label, tables[name])
    return name, labels


def _check_label(label: str, table: DatabaseTable) -> None:
    if label not in table.columns:
        raise unknown(f"column of table {table.name!r}:", label, table.columns)
    if label in table.primary or table.columns[label] == "other":
        why = "a part of the primary key" if label in table.primary else "whose type is none"
        raise DiffmgError(f"a label is a column of classes or numbers, but got {f'{table.name}.{label}'!r}, {why}")


def with_rows(connection: Connection, tables: Tables, times: Mapping[str, Times]) -> Tables:
    """Tables with rows, and their foreign keys that are not always NULL: a relation needs an edge."""
    filled = {n: t for n, t in tables.items() if has_rows(connection, t, (), times.get(n, {}))}
    for name, table in filled.items():
        own = times.get(name, {})
        empty = [k for k in table.foreign if k.table not in filled or not has_rows(connection, table, k.columns, own)]
        filled[name] = _without_numbers(connection, table.without(empty))
    return filled


def _without_numbers(connection: Connection, table: DatabaseTable) -> DatabaseTable:
    """The table; parts of its key that hardly repeat, such as an order's number, are no kind of feature."""
    foreign = {c for key in table.foreign for c in key.columns}
    parts = [c for c in table.primary if len(table.primary) > 1 and c not in foreign]
    single = {c for c in parts if not repeats(*counts_of(connection, table, c)[1:])}
    return replace(table, columns={c: "other" if c in single else kind for c, kind in table.columns.items()})


def _read(connection: Connection, name: str, description: Description, tables: Tables, times: Times) -> pa.Table:
    """A table sorted by id, so that nodes are numbered the same for any database."""
    table = tables[name]
    node = next((n for n in description.nodes.values() if n.table == name), None)
    ids = list(node.id or [*table.columns][:1]) if node else []
    numbered = ROW_NUMBER in ids and ROW_NUMBER not in table.columns
    columns = [c for c in _wanted(description, table) if not (numbered and c == ROW_NUMBER)]
    kinds = [kind_of(table, c, tables) for c in columns]
    found = read_rows(connection, select_rows(connection, table, columns, tables, times), columns, kinds)
    order = columns if numbered else ids
    found = sorted_by(found, order) if order else found
    return found.append_column(ROW_NUMBER, pa.array(range(found.num_rows), pa.int64())) if numbered else found


def _wanted(description: Description, table: DatabaseTable) -> list[str]:
    """Columns of a table that the description uses, in the table's order: features come in the order of columns."""
    wanted = description.keys_of(table.name) - {*(description.task.held_back if description.task else ())}
    for node in description.nodes.values():
        if node.table == table.name:
            rest = [c for c, kind in table.columns.items() if kind != "other" and c not in table.keys]
            wanted |= {*(node.id or [*table.columns][:1]), *(rest if node.features is None else node.features)}
    return sorted(wanted, key=[*table.columns, *sorted(wanted)].index)


def _no_rows(table: str, times: Mapping[str, Times]) -> DiffmgError:
    before = " and ".join(f"{column} < {time}" for column, time in times.get(table, {}).items())
    where = f" where {before}" if before else ""
    return DiffmgError(f"the table of the target must have rows, but got none in {table!r}{where}")
