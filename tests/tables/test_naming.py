"""Any name of a table or column is only a name, in every database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmg.tables.catalogue import DatabaseTable, ForeignKey, read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.naming import all_rows, different_values, free_alias, last_value, source_of
from diffmg.tables.rows import counts_of, has_rows, read_any, read_rows, select_rows

pytest.importorskip("sqlalchemy")

NASTY = ["referred", "other_0", "OTHER_0", "select", "a b", "50%", "%s", ":x", "a;b", "it's", "[red]", ".id", "?", "é"]
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\0'), min_size=1, max_size=6)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write(path: Path, name: str, key: str) -> None:
    """Two tables: `name` refers to `people` by a column that is not its id and has the same name in both."""
    statements = [
        f"CREATE TABLE people (id INTEGER PRIMARY KEY, {quoted(key)} VARCHAR UNIQUE)",
        f"CREATE TABLE {quoted(name)} (no INTEGER PRIMARY KEY, {quoted(key)} VARCHAR, FOREIGN KEY ({quoted(key)}) "
        f"REFERENCES people ({quoted(key)}))",
        "INSERT INTO people VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        f"INSERT INTO {quoted(name)} VALUES (10, 'c'), (11, 'a'), (12, NULL), (13, 'b')",
    ]
    if path.suffix == ".duckdb":
        import duckdb

        connection = duckdb.connect(path)
    else:
        connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def check(path: Path, name: str, key: str) -> None:
    """Every statement over the two tables gives what was written."""
    with connected(str(path)) as connection:
        tables = read_catalogue(connection)
        table, columns = tables[name], ["no", key, f"{key}.id"]
        statement = select_rows(connection, table, columns, tables, {})
        found = read_rows(connection, statement, columns, ["integer", "text", "integer"])
        rows = sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))
        assert rows == [(10, "c", 3), (11, "a", 1), (12, None, None), (13, "b", 2)]
        assert counts_of(connection, table, key) == (4, 3, 3)
        assert has_rows(connection, table, [key], {})
        assert sorted(read_any(connection, all_rows(table), ["x", "y"]).column("x").to_pylist()) == [10, 11, 12, 13]
        assert read_any(connection, last_value(table, key), ["last"]).column("last").to_pylist() == ["c"]
        every = read_any(connection, different_values(table, key), ["each"]).column("each").to_pylist()
        assert sorted(map(str, every)) == ["None", "a", "b", "c"]


@pytest.mark.parametrize("ending", ["db", "duckdb"])
@pytest.mark.parametrize("name", NASTY)
def test_a_table_of_any_name_links_the_right_rows(name: str, ending: str, tmp_path: Path) -> None:
    if ending == "duckdb":
        pytest.importorskip("duckdb")
    write(tmp_path / f"a.{ending}", name, name)
    check(tmp_path / f"a.{ending}", name, name)


@given(name=NAMES, key=NAMES)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_names_of_any_letters(name: str, key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("named")
    if name.lower() in ("people", "no") or key.lower() in ("no", "id") or name.lower().startswith("sqlite_"):
        return
    write(folder / "a.db", name, key)
    check(folder / "a.db", name, key)


def test_an_alias_is_no_table() -> None:
    assert free_alias([]) == "other_0"
    assert free_alias(["Other_0", "other_1"]) == "other_2"


def test_all_names_are_quoted(tmp_path: Path) -> None:
    table = DatabaseTable("t", {"c": "text"}, ("c",), (ForeignKey(("c",), "t", ("c",)),))
    assert str(all_rows(table)).split() == ["SELECT", '"t"."c"', "FROM", '"t"']
    assert str(source_of(table)) == "t"
