"""The schema of a database: tables, kinds of columns, primary and foreign keys."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sqlalchemy import Connection

Kind = Literal["yes or no", "integer", "number", "date", "moment", "text", "list", "any", "other"]
"""Kind of a column; `any` is an untyped column of SQLite, `other` cannot be a feature."""

SQL_KINDS: dict[str, Kind] = {"Boolean": "yes or no", "Integer": "integer", "Numeric": "number", "Float": "number"}
SQL_KINDS |= {"DateTime": "moment", "Date": "date", "String": "text", "Uuid": "text"}
"""Kind by name of the SQLAlchemy type."""
DUCKDB_KINDS: dict[str, Kind] = {
    "BOOLEAN": "yes or no",
    **{u + name: "integer" for u in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")},
    **dict.fromkeys(("DECIMAL", "FLOAT", "DOUBLE"), "number"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), "moment"),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM"), "text"),
}


@dataclass(frozen=True)
class ForeignKey:
    """Columns that refer to a row of another table."""

    columns: tuple[str, ...]
    table: str
    refers: tuple[str, ...]
    """The referenced columns of the other table, in the order of `columns`."""


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database."""

    name: str
    columns: Mapping[str, Kind]
    primary: tuple[str, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """Columns of primary and foreign keys."""
        return frozenset(self.primary).union(*(key.columns for key in self.foreign))

    def without(self, dropped: Collection[ForeignKey]) -> DatabaseTable:
        """The table without some foreign keys; their columns do not become features either."""
        left = replace(self, foreign=tuple(key for key in self.foreign if key not in dropped))
        lost: set[str] = set().union(*(key.columns for key in dropped)) - left.keys
        return replace(left, columns={c: "other" if c in lost else kind for c, kind in self.columns.items()})


def read_catalogue(connection: Connection) -> dict[str, DatabaseTable]:
    """The tables of the connection's current schema, by name; views are left out."""
    found = _from_duckdb(connection) if connection.dialect.name == "duckdb" else _from_inspector(connection)
    tables = {table.name: table for table in sorted(found, key=lambda t: t.name)}
    for name, table in tables.items():
        tables[name] = _with_matched_keys(table, tables)
    return {name: _with_kinds_of_keys(table, tables) for name, table in tables.items()}


def _from_inspector(connection: Connection) -> Iterable[DatabaseTable]:
    import sqlalchemy as sa

    inspector = sa.inspect(connection)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sa.exc.SAWarning)
        columns, foreign = inspector.get_multi_columns(), inspector.get_multi_foreign_keys()
        primary = inspector.get_multi_pk_constraint()
    untyped: Kind = "any" if connection.dialect.name == "sqlite" else "other"
    for place, found in columns.items():
        kinds = {str(c["name"]): _kind(c["type"], untyped) for c in found}
        keys = [
            ForeignKey(tuple(k["constrained_columns"]), k["referred_table"], tuple(k["referred_columns"]))
            for k in foreign.get(place, [])
            if k["referred_schema"] is None
        ]
        own = primary.get(place)
        yield DatabaseTable(str(place[1]), kinds, tuple(own["constrained_columns"] if own else ()), tuple(keys))


def _kind(of: Any, untyped: Kind) -> Kind:
    import sqlalchemy as sa

    of = getattr(of, "data_type", of)  # a PostgreSQL domain is based on another type
    if isinstance(of, sa.Numeric) and of.scale == 0:
        return "integer"
    if isinstance(of, sa.types.NullType):
        return untyped
    return next((kind for name, kind in SQL_KINDS.items() if isinstance(of, getattr(sa, name))), "other")


def _from_duckdb(connection: Connection) -> Iterable[DatabaseTable]:
    """Uses DuckDB's own functions: its dialect's inspector queries PostgreSQL catalogues that DuckDB lacks."""
    here = "database_name = current_database() AND schema_name = current_schema()"
    columns: dict[str, dict[str, Kind]] = {}
    query = f"SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE {here} ORDER BY column_index"
    for table, column, type_ in connection.exec_driver_sql(query):
        columns.setdefault(table, {})[column] = _duckdb_kind(type_)
    primary: dict[str, tuple[str, ...]] = {}
    foreign: dict[str, list[ForeignKey]] = {}
    wanted = "table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names"
    query = f"SELECT {wanted} FROM duckdb_constraints() WHERE {here}"
    for table, type_, names, other, refers in connection.exec_driver_sql(query):
        if type_ == "PRIMARY KEY":
            primary[table] = tuple(names)
        elif type_ == "FOREIGN KEY":
            foreign.setdefault(table, []).append(ForeignKey(tuple(names), other, tuple(refers)))
    tables = connection.exec_driver_sql(f"SELECT table_name FROM duckdb_tables() WHERE {here}").scalars()
    return [DatabaseTable(t, columns[t], primary.get(t, ()), tuple(foreign.get(t, ()))) for t in tables]


def _duckdb_kind(type_: str) -> Kind:
    if type_.startswith("DECIMAL") and type_.endswith(",0)"):
        return "integer"
    if type_.endswith("]"):
        return "list" if type_.endswith("[]") and DUCKDB_KINDS.get(type_[:-2]) in ("text", "integer") else "other"
    return DUCKDB_KINDS.get(type_.partition("(")[0], "other")


def _with_matched_keys(table: DatabaseTable, tables: Mapping[str, DatabaseTable]) -> DatabaseTable:
    """Remove duplicate foreign keys and those that refer to nothing; sort by column order."""
    matched = {key: _matched(key, tables) for key in table.foreign}
    table = table.without([key for key, found in matched.items() if found is None])
    order = list(table.columns)
    keys = {found for found in matched.values() if found is not None}
    ordered = sorted(keys, key=lambda key: ([order.index(c) for c in key.columns], key.table, key.refers))
    return replace(table, foreign=tuple(ordered))


def _matched(key: ForeignKey, tables: Mapping[str, DatabaseTable]) -> ForeignKey | None:
    """The key with names spelled as in the tables (SQLite ignores case); None if a column does not exist."""
    name = _spelled(key.table, tables)
    if name is None:
        return None
    refers = [_spelled(column, tables[name].columns) for column in key.refers or tables[name].primary]
    known = tuple(column for column in refers if column is not None)
    return ForeignKey(key.columns, name, known) if len(known) == len(refers) == len(key.columns) else None


def _spelled(name: str, known: Iterable[str]) -> str | None:
    names = list(known)
    return name if name in names else next((n for n in names if n.lower() == name.lower()), None)


def _with_kinds_of_keys(table: DatabaseTable, tables: Mapping[str, DatabaseTable]) -> DatabaseTable:
    """Foreign key columns take the kind of the column they refer to: in SQLite the two may differ."""
    kinds = dict(table.columns)
    for key in table.foreign:
        kinds |= {c: tables[key.table].columns[r] for c, r in zip(key.columns, key.refers, strict=True)}
    return replace(table, columns=kinds)
