"""Writes a world to files: each way returns the files, and the world as a reader of them must see it."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from diffmg.core.codec import to_toml
from fuzz.library import Table, World

NET = "net.toml"
MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
}  # fmt: skip
"""Texts that mean an empty cell in text files."""
Written = tuple[dict[str, bytes], World]


def as_csv(world: World) -> Written:
    """A CSV file for each table."""
    seen = world.copy()
    seen.text = True
    files = {}
    for name, table in world.tables.items():
        texts = {column: [_text(cell) for cell in cells] for column, cells in table.items()}
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")  # what holds one of the two is quoted
        writer.writerows([[*texts], *zip(*texts.values(), strict=True)])
        files[f"{name}.csv"] = out.getvalue().encode("utf-8", "replace")
        seen.tables[name] = {c: [None if v in MISSING else v for v in cells] for c, cells in texts.items()}
    return files | {NET: net(world, ".csv")}, seen


def as_parquet(world: World) -> Written:
    """A Parquet file for each table; columns of mixed types become text."""
    seen = typed(world)
    files = {}
    for name, table in seen.tables.items():
        buffer = io.BytesIO()
        parquet.write_table(pa.table({c: pa.array(cells) for c, cells in table.items()}), buffer)
        files[f"{name}.parquet"] = buffer.getvalue()
    return files | {NET: net(world, ".parquet")}, seen


def as_sqlite(world: World) -> Written:
    """A SQLite file with all tables."""
    seen = stored(world)
    return {"net.db": sqlite_bytes(statements(seen), seen.tables), NET: net(seen, "", "net.db")}, seen


def as_duckdb(world: World) -> Written:
    """A DuckDB file with all tables."""
    seen = stored(world)
    return {"net.duckdb": duckdb_bytes(statements(seen), seen.tables), NET: net(seen, "", "net.duckdb")}, seen


def net(world: World, ending: str, database: str | None = None) -> bytes:
    """The description in TOML."""
    parts = World(world.tables, world.described).copy().described
    for part in (*parts["nodes"].values(), *parts["relations"].values()):
        if "file" in part:
            part["table" if database else "file"] = f"{part.pop('file')}{ending}"
    head = {} if database is None else {"database": database}
    return to_toml(head | parts).encode("utf-8", "replace")


def typed(world: World) -> World:
    """The world with one type a column."""
    seen = world.copy()
    for table in seen.tables.values():
        for column, cells in table.items():
            table[column] = _of_one_type(cells)
    return seen


def stored(world: World) -> World:
    """The world with columns that any database takes: whole numbers, numbers or text, under names it allows."""
    seen = typed(_nameable(world))
    for table in seen.tables.values():
        for column, cells in table.items():
            kinds = {type(v) for v in cells if v is not None}
            wide = any(isinstance(v, int) and abs(v) >= 2**63 for v in cells)
            if wide or not (kinds <= {int, float} or kinds == {str}):
                table[column] = [None if v is None else _text(v) for v in cells]
            elif kinds == {int, float}:
                table[column] = [None if v is None else float(v) for v in cells]
    return seen


def _nameable(world: World) -> World:
    """The world with an underscore for names that SQL has no words for, and for zero bytes in them."""
    text = json.dumps(world.described).replace("\\u0000", "_").replace('""', '"_"')
    tables = {
        name: {c.replace("\x00", "_") or "_": cells for c, cells in table.items()}
        for name, table in world.tables.items()
    }
    return replace(world, tables=tables, described=json.loads(text))


def _of_one_type(cells: list[Any]) -> list[Any]:
    try:
        pa.array(cells)
    except (pa.ArrowException, OverflowError, ValueError):
        return [None if v is None else _text(v) for v in cells]
    return cells


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, bytes):
        return cell.decode("latin-1")
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def kind_of(cells: list[Any]) -> str:
    """The type of a stored column in SQL."""
    kinds = {type(v) for v in cells if v is not None}
    return "BIGINT" if kinds == {int} else "DOUBLE PRECISION" if float in kinds else "TEXT"


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def statements(world: World) -> dict[str, str]:
    """For each table, the statement that makes it."""
    return {name: f"CREATE TABLE {quoted(name)} ({columns(table)})" for name, table in world.tables.items()}


def columns(table: Table, more: Mapping[str, str] | None = None) -> str:
    """The columns of a table in SQL, some with more to say."""
    told = more or {}
    return ", ".join(f"{quoted(c)} {kind_of(cells)} {told.get(c, '')}" for c, cells in table.items())


def rows(table: Table) -> list[tuple[Any, ...]]:
    """The rows of a table."""
    plain = ([None if isinstance(v, float) and math.isnan(v) else v for v in cells] for cells in table.values())
    return [*zip(*plain, strict=True)]


def sqlite_bytes(statements: Mapping[str, str], tables: Mapping[str, Table]) -> bytes:
    """A SQLite file of tables, each made by a statement."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, table in tables.items():
            connection.execute(statements[name])
            marks = ", ".join("?" * len(table))
            connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows(table))
        connection.commit()
        return connection.serialize()


def duckdb_bytes(statements: Mapping[str, str], tables: Mapping[str, Table]) -> bytes:
    """A DuckDB file of tables, each made by a statement; rows that refer to others of their table go in one by one."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made"
        with duckdb.connect(path) as connection:
            for name, table in tables.items():
                connection.execute(statements[name])
                if "REFERENCES" in statements[name]:
                    marks = ", ".join("?" * len(table))
                    connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows(table))
                else:
                    found = pa.table({f"c{i}": pa.array(cells) for i, cells in enumerate(table.values())})
                    connection.register("found rows", found)
                    connection.execute(f'INSERT INTO {quoted(name)} SELECT * FROM "found rows"')
        return path.read_bytes()


ROUTES_OF_FILES = (as_csv, as_parquet, as_sqlite, as_duckdb)
