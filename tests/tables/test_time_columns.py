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
    ("columns", "value"),
    [
        ("made TEXT", "31.01.2024"),
        ("made TEXT", "01/31/2024 12:30"),
        ("made INTEGER, made_at INTEGER", 1706700000),
        ("made_at INTEGER", 1706700000000),
        ("date INTEGER", 20240131),
    ],
)
def test_times_of_other_clear_forms_are_found_unless_a_table_is_static(tmp_path, columns, value):
    *_, last = names = [name.split()[0] for name in columns.split(", ")]
    assert found(tmp_path, columns, [(value,) * len(names)] * 3) == {"things": last}
    (tmp_path / "one.db").unlink()
    assert found(tmp_path, columns, [(value,) * len(names)] * 3, static=["things"]) == {}


def test_unclear_dates_are_refused_unless_a_table_is_static(tmp_path):
    rows = [("03/01/2024",), ("04/02/2024",)]
    with pytest.raises(DiffmgError, match=r"'03/01/2024' in things\.made; convert it, .* --by static=things"):
        found(tmp_path, "made TEXT", rows)
    (tmp_path / "one.db").unlink()
    assert found(tmp_path, "made TEXT", rows, static=["things"]) == {}


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
