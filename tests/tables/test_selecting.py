from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.tables.catalogue import DatabaseTable, ForeignKey, read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.rows import has_rows, kind_of, select_rows, split_name, times_of

pytest.importorskip("sqlalchemy")

STATEMENTS = (
    'CREATE TABLE "select" (id INTEGER PRIMARY KEY, mail VARCHAR(9) UNIQUE, "from where" TEXT)',
    "CREATE TABLE letter (id INTEGER PRIMARY KEY, sender VARCHAR(9), day DATE, sent TIMESTAMP, stamp INTEGER, "
    'note TEXT, seen BOOLEAN, FOREIGN KEY (sender) REFERENCES "select" (mail))',
    "INSERT INTO \"select\" VALUES (1, 'a@x', 'home'), (2, 'b@x', NULL)",
    "INSERT INTO letter VALUES "
    "(1, 'a@x', '2024-01-01', '2024-01-01 10:00:00', 100, '2024-01', true), "
    "(2, 'b@x', '2024-02-01', '2024-02-01 10:00:00', 200, '2024-02', false), "
    "(3, NULL, NULL, NULL, NULL, NULL, NULL)",
)


def sqlite_file(path: Path) -> str:
    connection = sqlite3.connect(path)
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return str(path)


def duckdb_file(path: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(path)
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.close()
    return str(path)


@pytest.fixture(params=[sqlite_file, duckdb_file])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with connected(request.param(tmp_path / "a.db")) as connection:
        yield connection


def read(opened: Any, table: str, columns: Sequence[str], times: Mapping[str, str] | None = None) -> list[Any]:
    tables = read_catalogue(opened)
    statement = select_rows(opened, tables[table], columns, tables, times or {})
    return sorted(map(tuple, opened.execute(statement)), key=str)


def test_names_are_quoted(opened: Any) -> None:
    assert read(opened, "select", ["from where", "id"]) == [("home", 1), (None, 2)]


def test_a_key_is_followed_to_another_column(opened: Any) -> None:
    assert read(opened, "letter", ["id", "sender.id"]) == [(1, 1), (2, 2), (3, None)]


@pytest.mark.parametrize(
    ("column", "time"),
    [
        ("day", "2024-02-01"),
        ("day", "2024-01-15T12:00"),
        ("sent", "2024-02-01"),
        ("sent", "2024-02-01T10:00:00"),
        ("sent", "2024-02-01 11:00+01:00"),
        ("stamp", "200"),
        ("note", "2024-02"),
    ],
)
def test_rows_are_read_before_a_time(opened: Any, column: str, time: str) -> None:
    assert read(opened, "letter", ["id"], {column: time}) == [(1,)]


def test_the_time_is_exact(opened: Any) -> None:
    assert read(opened, "letter", ["id"], {"sent": "2024-02-01T10:00:01"}) == [(1,), (2,)]


def test_all_times_hold(opened: Any) -> None:
    assert read(opened, "letter", ["id"], {"sent": "2025-01-01", "stamp": "150"}) == [(1,)]


def test_times_of_sqlite_are_compared_as_times(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, t DATETIME)")
    times = ["2024-05-01T09:00:00", "2024-05-01 11:00:00", "2024-05-01T12:30:00+02:00", 1714546800, "", None]
    connection.executemany("INSERT INTO a (t) VALUES (?)", [(t,) for t in times])
    connection.commit()
    connection.close()
    with connected(str(tmp_path / "a.db")) as opened:
        assert read(opened, "a", ["id"], {"t": "2024-05-01 10:45"}) == [(1,), (3,), (4,)]


@pytest.mark.parametrize(
    ("column", "time", "message"),
    [
        ("sent", "last week", "a time is written 2024-01-31 or 2024-01-31T12:30, but got 'last week'"),
        ("stamp", "2024-01-01", "a time of 'letter.stamp' is a number, as the column holds, but got '2024-01-01'"),
        ("seen", "true", "`as_of` is for columns of times, but got 'letter.seen', a column of 'yes or no'"),
    ],
)
def test_a_bad_time_is_named(opened: Any, column: str, time: str, message: str) -> None:
    with pytest.raises(DiffmgError, match=message):
        read(opened, "letter", ["id"], {column: time})


def test_rows_and_keys_are_looked_for(opened: Any) -> None:
    letter = read_catalogue(opened)["letter"]
    assert has_rows(opened, letter, (), {})
    assert has_rows(opened, letter, ["sender"], {"sent": "2024-01-02"})
    assert not has_rows(opened, letter, [], {"sent": "2023-01-01"})
    assert not has_rows(opened, letter, ["sender"], {"stamp": "0"})


MAIL = ForeignKey(("sender", "kind"), "person", ("mail", "kind"))
TABLES = {
    "person": DatabaseTable("person", {"id": "integer", "mail": "text", "born": "date"}, ("id",)),
    "letter": DatabaseTable("letter", {"sender": "text", "kind": "text", "sent": "date"}, (), (MAIL,)),
    "a.b": DatabaseTable("a.b", {"c.d": "text", "sent": "moment"}),
}


def test_the_kind_of_a_column_may_be_that_of_another_table() -> None:
    assert kind_of(TABLES["letter"], "sent", TABLES) == "date"
    assert kind_of(TABLES["letter"], "sender,kind.id", TABLES) == "integer"


@pytest.mark.parametrize("name", ["sentt", "sender.id", "sender,kind.idd"])
def test_an_unknown_column_is_named(name: str) -> None:
    with pytest.raises(DiffmgError, match=rf"unknown column of table 'letter': '{name}'.* Known: kind, sender, sent"):
        kind_of(TABLES["letter"], name, TABLES)


def test_names_are_split_where_a_table_is() -> None:
    assert split_name("letter.sent", TABLES) == ("letter", "sent")
    assert split_name("a.b.c.d", TABLES) == ("a.b", "c.d")
    assert split_name("lettre.sent", TABLES) is None
    assert split_name("sent", TABLES) is None


def test_a_column_alone_stands_for_all_tables_that_have_it() -> None:
    assert times_of({"sent": "2024"}, TABLES) == {"letter": {"sent": "2024"}, "a.b": {"sent": "2024"}}
    assert times_of({"letter.sent": "2024", "born": "1990"}, TABLES) == {
        "letter": {"sent": "2024"},
        "person": {"born": "1990"},
    }


def test_a_column_of_times_that_is_unknown_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"did you mean 'sent'\? Known: born, c\.d"):
        times_of({"sentt": "2024"}, TABLES)
    with pytest.raises(DiffmgError, match=r"unknown column of `as_of`: 'send'; .* Known:"):
        times_of({"letter.send": "2024"}, TABLES)
