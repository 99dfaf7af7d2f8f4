"""Which column dates the rows of a table, and what is refused because it would make a table static."""

import sqlite3

import pytest

from diffmg.core import DiffmgError
from diffmg.tables.catalogue import read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.time_columns import time_column, time_columns

pytest.importorskip("sqlalchemy")


def found(tmp_path, columns, rows, static=()):
    """The time columns of a database of one table."""
    path = tmp_path / "one.db"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE things (id INTEGER PRIMARY KEY, {columns})")
        marks = ", ".join("?" * (len(rows[0]) + 1))
        db.executemany(f"INSERT INTO things VALUES ({marks})", [(i, *row) for i, row in enumerate(rows)])
    db.close()
    with connected(str(path)) as connection:
        return time_columns(connection, read_catalogue(connection), static)


def test_dates_count_though_many_rows_have_none(tmp_path):
    rows = [(None,)] * 3000 + [("2024-01-31",)]
    assert found(tmp_path, "made TEXT", rows) == {"things": "made"}


@pytest.mark.parametrize(
    ("columns", "value", "odd"),
    [
        ("made TEXT", "31.01.2024", "'31.01.2024' in things.made"),
        ("made TEXT", "01/31/2024 12:30", "in things.made"),
        ("made_at INTEGER", 1706700000, "1706700000 in things.made_at"),
        ("made_at INTEGER", 1706700000000, "in things.made_at"),
        ("date INTEGER", 20240131, "20240131 in things.date"),
    ],
)
def test_times_of_another_form_are_refused_unless_a_table_is_static(tmp_path, columns, value, odd):
    with pytest.raises(DiffmgError, match=f"{odd}; convert it, .* --by static=things"):
        found(tmp_path, columns, [(value,)] * 3)
    (tmp_path / "one.db").unlink()
    assert found(tmp_path, columns, [(value,)] * 3, static=["things"]) == {}


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("name TEXT", "20 apples"),
        ("year INTEGER", 2024),
        ("minutes_time INTEGER", 90),
        ("phone INTEGER", 1706700000),
        ("born TEXT", "31.01.1990"),
        ("zip TEXT", "10115"),
        ("made_at REAL", None),
    ],
)
def test_what_is_no_time_is_static(tmp_path, columns, value):
    assert found(tmp_path, columns, [(value,)] * 3) == {}


def test_one_text_that_is_no_date_is_found(tmp_path):
    with pytest.raises(DiffmgError, match=r"but got 'soon' in things\.made"):
        found(tmp_path, "made TEXT", [("2024-01-31",), ("soon",), ("2024-02-01",)])


def test_the_column_of_dates_that_was_written_first():
    assert time_column({"updated_at": True, "created_at": False, "birth_date": True}) == "created_at"
    assert time_column({"birth_date": True}) is None
