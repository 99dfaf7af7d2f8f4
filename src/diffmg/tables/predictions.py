"""Describes a database and a table of predictions (entity, moment, label) as a timed network with its task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from diffmg.core import DiffmgError, Predictions, unknown
from diffmg.core.files import is_file_name
from diffmg.core.plan import is_select
from diffmg.tables.catalogue import read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.database import columns_of, left_out_notes, linked_to, nodes_of, relations_of, short_name, with_rows
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.folder import name_in
from diffmg.tables.guessing import are_exact, guess_notes, kept_guesses, with_guessed_keys
from diffmg.tables.naming import all_rows, different_values, last_value
from diffmg.tables.own_rows import holds_predictions
from diffmg.tables.reading import read_table
from diffmg.tables.roles import Roles
from diffmg.tables.rows import Tables, read_any, read_query
from diffmg.tables.time_columns import time_columns
from diffmg.tables.times import NEVER, row_times
from diffmg.tables.times import moments as moments_of
from diffmg.tables.windows import Moments, Staleness, WindowTable

if TYPE_CHECKING:
    from sqlalchemy import Connection

PREDICTIONS = "predictions"
"""Node type of the predictions; the table's name where it has one."""
LAST, WITHIN = (1, 5, 20), ("30d", "365d")
"""Windows of a prediction: so many rows, and so many days back."""
BETWEEN = (1, 5)
"""Windows of other rows."""


def describe_predictions(address: str, given: Predictions) -> Description:
    """The tables of a database as a timed network, and a task of predictions on it.

    The columns of entity, moment, label and split are recognised by name and type where they are not given. Tables with
    a column of dates are timed, and so are undated tables that refer to them; all others are static. A table that
    holds the predictions is left out, since their labels are not known at their moments.
    """
    with connected(address) as connection:
        tables = read_catalogue(connection)
        table = read_predictions(connection, given.table, tables)
        tables.pop(name_in(address, given.table), None)
        tables, guesses = with_guessed_keys(connection, tables)
        roles = Roles.of(given, table, tables)
        tables = {n: t for n, t in tables.items() if not holds_predictions(connection, t, table, roles)}
        found, tables = tables, linked_to(roles.entity_table, with_rows(connection, tables, {}))
        guesses = kept_guesses(guesses, tables)
        times = time_columns(connection, tables, _static(given.static, tables))
        _check_timed(times, tables)
        history = given.history or _staleness(connection, tables, times, table.column(roles.time))
    name = PREDICTIONS
    while name in tables:
        name = f"{name}_"
    relations = relations_of(tables, roles.entity_table)
    nodes = _timed(nodes_of(tables, roles.entity_table, frozenset()), relations, times)
    of_entity = RelationTable(
        given.name, (roles.entity_table, roles.entity), (name, roles.entity, roles.time), both=False
    )
    windows = dict(_windows(tables, nodes, roles, name))
    split = {"validation": given.validation, "test": given.test}
    moments = Moments(name, roles.time, **split, history=history, horizon=given.horizon, query=given.query)
    nodes[name] = NodeTable(given.name, (roles.entity, roles.time))
    if given.horizon is not None:
        past = _free(f"{roles.label} before", nodes)
        nodes[past] = NodeTable(
            given.name, (roles.entity, roles.time), (roles.label,), time=roles.time, delay=given.horizon
        )
        windows |= dict(_named(past, roles.entity, (past, roles.entity), (name, roles.entity), LAST, WITHIN))
    return Description(
        nodes,
        {**relations, _free("entity", relations): of_entity},
        roles.task(name, table, given),
        database=address,
        moments=moments,
        windows=windows,
        on_unknown="error" if are_exact(guesses) else "drop",
        notes=(*guess_notes(guesses), *left_out_notes(found, roles.entity_table, tables)),
    )


def read_predictions(connection: Connection, name: str, tables: Tables) -> pa.Table:
    """The table of predictions: a file, a table of the database, or a SELECT."""
    found = _read(connection, name, tables)
    if not found.num_rows:
        raise DiffmgError(f"a table of predictions must have rows, but got none from {name!r}")
    return found


def _read(connection: Connection, name: str, tables: Tables) -> pa.Table:
    if name in tables:
        return read_any(connection, all_rows(tables[name]), list(tables[name].columns))
    if is_file_name(name):
        return read_table(Path(name))
    if is_select(name):
        return read_query(connection, name)
    raise DiffmgError(
        "predictions are a file (.csv, .tsv, .parquet), a table of the database, or a SELECT, "
        f"but got {name!r}; tables: {', '.join(tables)}"
    )


def _static(given: str | None, tables: Tables) -> list[str]:
    """The tables that are said to be known from the beginning."""
    names = [name.strip() for name in given.split(",")] if given else []
    for name in names:
        if name not in tables:
            raise unknown("table of --by static:", name, tables)
    return names


def _check_timed(times: Mapping[str, str], tables: Tables) -> None:
    if not times:
        raise DiffmgError(
            "predictions at moments need tables with a column of dates, from which rows are known, but got none in "
            f"{', '.join(tables)}; without times, name what to predict with --target TABLE.COLUMN"
        )


def _staleness(connection: Connection, tables: Tables, times: Mapping[str, str], made: pa.ChunkedArray) -> Staleness:
    """Frozen where the data end before the last prediction is made."""
    ends = []
    for table, column in times.items():
        text = tables[table].columns[column] in ("text", "any")
        statement = (different_values if text else last_value)(tables[table], column)
        found = read_any(connection, statement, ["found"])
        ends.append(int(row_times(found.column("found"), f"{table}.{column}").max(initial=NEVER)))
    return "frozen" if ends and max(ends) < moments_of(made, "the predictions").max() else "fresh"


def _timed(
    nodes: Mapping[str, NodeTable], relations: Mapping[str, RelationTable], times: Mapping[str, str]
) -> dict[str, NodeTable]:
    """Node types with their times; undated rows that refer to dated ones inherit the latest of their times."""
    found = {
        t: replace(node, time=times[t], features=_without(node, times[t])) for t, node in nodes.items() if t in times
    }
    while True:
        heirs = {
            t: tuple(n for n, r in relations.items() if r.table == t and r.source[0] == t and r.target[0] in found)
            for t in nodes
            if t not in found
        }
        new = {t: replace(nodes[t], time_of=names) for t, names in heirs.items() if names}
        if not new:
            return {t: found.get(t, node) for t, node in nodes.items()}
        found |= new


def _without(node: NodeTable, time: str) -> tuple[str, ...] | None:
    return None if node.features is None else tuple(name for name in node.features if name != time)


def _windows(
    tables: Tables, nodes: Mapping[str, NodeTable], roles: Roles, predictions: str
) -> Iterator[tuple[str, WindowTable]]:
    """Rows of the entity before each prediction; earlier rows that share a key with a row."""
    dated = [t for t, node in nodes.items() if node.time or node.time_of]
    keys = [(t, key, (t, *columns_of(key, tables))) for t in dated for key in tables[t].foreign if key.table in nodes]
    for table, key, source in keys:
        if key.table == roles.entity_table:
            yield from _named(table, short_name(key), source, (predictions, roles.entity), LAST, WITHIN)
        for _, other, target in keys:
            if other.table == key.table:
                names = dict.fromkeys((short_name(key), short_name(other)))
                yield from _named(table, " for the ".join(names), source, target, BETWEEN, ())


def _named(
    table: str, key: str, source: tuple[str, ...], target: tuple[str, ...], last: Sequence[int], within: Sequence[str]
) -> Iterator[tuple[str, WindowTable]]:
    windows = [(f"last {n} of the {key}", WindowTable(source, target, last=n)) for n in last]
    windows += [(f"last {text} of the {key}", WindowTable(source, target, within=text)) for text in within]
    for name, window in windows:
        yield f"{table} to {target[0]}: {name}", replace(window, name=name)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
