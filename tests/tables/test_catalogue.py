from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from diffmg.tables.catalogue import DatabaseTable, ForeignKey, read_catalogue
from diffmg.tables.connecting import connected

pytest.importorskip("sqlalchemy")


def sqlite_tables(folder: Path, *statements: str) -> dict[str, DatabaseTable]:
    connection = sqlite3.connect(folder / "a.db")
    for statement in statements:
        connection.execute(statement)
    connection.close()
    with connected(str(folder / "a.db")) as opened:
        return read_catalogue(opened)


def duckdb_tables(folder: Path, *statements: str) -> dict[str, DatabaseTable]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(folder / "a.duckdb")
    for statement in statements:
        connection.execute(statement)
    connection.close()
    with connected(str(folder / "a.duckdb")) as opened:
        return read_catalogue(opened)


BOTH = pytest.mark.parametrize("tables_of", [sqlite_tables, duckdb_tables])
KEYS = (
    'CREATE TABLE "my order" (shop VARCHAR(9), "no" INTEGER, email VARCHAR(9) UNIQUE, PRIMARY KEY (shop, "no"))',
    "CREATE TABLE person (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES person (id))",
    'CREATE TABLE line (id INTEGER PRIMARY KEY, shop VARCHAR(9), "no" INTEGER, person_id INTEGER REFERENCES person, '
    'mail VARCHAR(9) REFERENCES "my order" (email), FOREIGN KEY (shop, "no") REFERENCES "my order" (shop, "no"))',
    "CREATE VIEW seen AS SELECT id FROM person",
)


@BOTH
def test_tables_and_keys_are_read_in_order(tables_of, tmp_path: Path) -> None:
    tables = tables_of(tmp_path, *KEYS)
    assert list(tables) == ["line", "my order", "person"]
    assert tables["my order"].primary == ("shop", "no")
    assert tables["my order"].keys == {"shop", "no"}
    assert tables["person"].foreign == (ForeignKey(("boss",), "person", ("id",)),)
    assert tables["line"].foreign == (
        ForeignKey(("shop", "no"), "my order", ("shop", "no")),
        ForeignKey(("person_id",), "person", ("id",)),
        ForeignKey(("mail",), "my order", ("email",)),
    )
    assert tables["line"].keys == {"id", "shop", "no", "person_id", "mail"}


@BOTH
def test_a_database_without_tables_has_none(tables_of, tmp_path: Path) -> None:
    assert tables_of(tmp_path, "CREATE TABLE a (b INTEGER)", "DROP TABLE a") == {}


KINDS = {
    "yes or no": ["BOOLEAN"],
    "integer": ["INTEGER", "BIGINT", "SMALLINT", "DECIMAL(12, 0)"],
    "number": ["DECIMAL(10, 2)", "REAL", "DOUBLE PRECISION"],
    "date": ["DATE"],
    "moment": ["TIMESTAMP", "DATETIME"],
    "text": ["VARCHAR(20)", "TEXT"],
    "other": ["BLOB", "TIME", "JSON"],
}


def columns_of(types: Sequence[str]) -> str:
    return ", ".join(f"c{i} {type_}" for i, type_ in enumerate(types))


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_has_the_kind_of_its_type(tables_of, kind: str, tmp_path: Path) -> None:
    found = tables_of(tmp_path, f"CREATE TABLE a ({columns_of(KINDS[kind])})")["a"].columns
    assert set(found.values()) == {kind}


def test_types_of_duckdb_have_a_kind(tmp_path: Path) -> None:
    types = ("UTINYINT", "HUGEINT", "TIMESTAMP_NS", "TIMESTAMPTZ", "UUID", "ENUM('a', 'b')", "FLOAT")
    lists = ("INTEGER[]", "VARCHAR[]")
    others = ("DECIMAL(4, 0)[]", "DOUBLE[]", "INTEGER[][]", "INTEGER[3]", "STRUCT(a INTEGER)", "INTERVAL")
    columns = columns_of((*types, *lists, *others))
    found = list(duckdb_tables(tmp_path, f"CREATE TABLE a ({columns})")["a"].columns.values())
    assert found[: len(types)] == ["integer", "integer", "moment", "moment", "text", "text", "number"]
    assert found[len(types) :] == ["list"] * len(lists) + ["other"] * len(others)


def test_a_column_of_sqlite_without_a_type_may_be_anything(tmp_path: Path) -> None:
    assert sqlite_tables(tmp_path, "CREATE TABLE a (b)")["a"].columns == {"b": "any"}


def test_keys_of_sqlite_find_names_in_any_case_and_the_primary_key(tmp_path: Path) -> None:
    tables = sqlite_tables(
        tmp_path,
        "CREATE TABLE Person (Id TEXT PRIMARY KEY)",
        "CREATE TABLE pet (owner REFERENCES person (ID), friend REFERENCES PERSON)",
    )
    assert tables["pet"].foreign == (
        ForeignKey(("owner",), "Person", ("Id",)),
        ForeignKey(("friend",), "Person", ("Id",)),
    )
    assert tables["pet"].columns == {"owner": "text", "friend": "text"}


def test_a_key_to_nothing_is_neither_a_key_nor_a_feature(tmp_path: Path) -> None:
    tables = sqlite_tables(
        tmp_path,
        "CREATE TABLE person (id INTEGER PRIMARY KEY)",
        "CREATE TABLE pet (name TEXT, owner INTEGER REFERENCES gone (id), sitter INTEGER REFERENCES person (lost))",
    )
    assert tables["pet"].foreign == ()
    assert tables["pet"].columns == {"name": "text", "owner": "other", "sitter": "other"}


def test_a_key_that_was_declared_twice_counts_once(tmp_path: Path) -> None:
    tables = sqlite_tables(
        tmp_path,
        "CREATE TABLE a (id INTEGER PRIMARY KEY)",
        "CREATE TABLE b (a_id INTEGER REFERENCES a (id), FOREIGN KEY (a_id) REFERENCES a (id))",
    )
    assert tables["b"].foreign == (ForeignKey(("a_id",), "a", ("id",)),)


def test_without_a_key_its_columns_are_no_features_unless_others_need_them() -> None:
    first, second = ForeignKey(("a", "b"), "x", ("p", "q")), ForeignKey(("b", "c"), "y", ("p", "q"))
    table = DatabaseTable("t", dict.fromkeys("abc", "text"), (), (first, second))
    left = table.without([first])
    assert left.foreign == (second,)
    assert left.columns == {"a": "other", "b": "text", "c": "text"}
