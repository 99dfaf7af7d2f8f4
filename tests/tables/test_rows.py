from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from diffmg.tables import rows
from diffmg.tables.catalogue import Kind
from diffmg.tables.connecting import connected
from diffmg.tables.rows import canonical, read_rows

sa = pytest.importorskip("sqlalchemy")

NOON = datetime(2024, 5, 1, 12)


def stored(tmp_path: Path, declared: str, values: list[Any], kind: Kind) -> pa.ChunkedArray:
    """A column of SQLite with these values, read."""
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute(f"CREATE TABLE a (v {declared})")
    connection.executemany("INSERT INTO a VALUES (?)", [(v,) for v in values])
    connection.commit()
    connection.close()
    statement = sa.select(sa.column("v")).select_from(sa.table("a"))
    with connected(str(tmp_path / "a.db")) as opened:
        return read_rows(opened, statement, ["v"], [kind]).column("v")


@pytest.mark.parametrize(
    ("declared", "kind", "values", "read"),
    [
        ("BOOLEAN", "yes or no", [0, 1, None], [False, True, None]),
        ("BOOLEAN", "yes or no", ["true", None, "false"], [True, None, False]),
        ("BOOLEAN", "yes or no", [0, 1, 2], [0, 1, 2]),
        ("INTEGER", "integer", [3, None], [3, None]),
        ("INTEGER", "integer", [3, 4.5], [3.0, 4.5]),
        ("INTEGER", "integer", [3, "three"], ["3", "three"]),
        ("DECIMAL(4, 2)", "number", [1, 2.5, None], [1.0, 2.5, None]),
        ("DATE", "date", ["2024-05-01", None], [date(2024, 5, 1), None]),
        ("DATE", "date", ["2024-05-01 12:00:00"], [NOON]),
        ("DATETIME", "moment", ["2024-05-01 12:00:00", "2024-05-01T12:00:00.0"], [NOON, NOON]),
        ("DATETIME", "moment", ["2024-05-01T14:00:00+02:00", "2024-05-01 12:00:00Z", None], [NOON, NOON, None]),
        ("DATETIME", "moment", ["in May", None], ["in May", None]),
        ("DATETIME", "moment", [1714564800, None], [1714564800, None]),
        ("VARCHAR(9)", "text", ["x", None], ["x", None]),
        ("", "any", [1, "x", None], ["1", "x", None]),
        ("", "any", [None, None], [None, None]),
        ("BLOB", "other", [b"\x01\xff", None], ["01ff", None]),
        ("BLOB", "other", [b"\x01\xff", "x"], ["01ff", "x"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("chunk", [1, 100])
def test_sqlite_is_read_as_declared_and_else_as_it_is(
    declared: str, kind: Kind, values: list[Any], read: list[Any], chunk: int, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(rows, "CHUNK", chunk)
    assert stored(tmp_path, declared, values, kind).to_pylist() == read


def test_the_types_are_those_of_the_kinds(tmp_path: Path) -> None:
    assert stored(tmp_path, "INTEGER", [1], "integer").type == pa.int64()
    assert canonical(pa.chunked_array([pa.nulls(2)]), "moment").type == pa.timestamp("us")
    assert canonical(pa.chunked_array([pa.nulls(2)]), "number").type == pa.float64()


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    assert stored(tmp_path, "DATE", [], "date").type == pa.date32()


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([Decimal("0.1"), None], "number", [0.1, None]),
        ([Decimal("7"), Decimal("9007199254740993")], "integer", [7, 9007199254740993]),
        ([Decimal(10**30)], "integer", [str(10**30)]),
        ([Decimal("NaN"), Decimal("Infinity")], "number", [pytest.approx(float("nan"), nan_ok=True), float("inf")]),
        ([UUID(int=5), None], "text", [str(UUID(int=5)), None]),
        ([datetime(2024, 5, 1, 12, tzinfo=UTC)], "moment", [NOON]),
        ([b"\x0a"], "other", ["0a"]),
    ],
    ids=str,
)
def test_values_of_other_drivers_are_read_alike(values: list[Any], kind: Kind, read: list[Any]) -> None:
    array = rows._joined([rows._array(values, kind)])
    assert canonical(array, kind).to_pylist() == read


@pytest.mark.parametrize(
    ("array", "kind", "read"),
    [
        (pa.array(["a", "b", "a"]).dictionary_encode(), "text", ["a", "b", "a"]),
        (pa.array([Decimal("77.29"), None], pa.decimal128(10, 2)), "number", [77.29, None]),
        (pa.array([Decimal("5")], pa.decimal128(38, 0)), "integer", [5]),
        (pa.array([Decimal("77.29"), None], pa.decimal128(10, 2)), "any", [77.29, None]),
        (pa.array([Decimal("5")], pa.decimal128(38, 0)), "any", [5]),
        (pa.array([NOON], pa.timestamp("us", "Europe/Paris")), "moment", [NOON]),
        (pa.array([5], pa.uint8()), "integer", [5]),
        (pa.array([b"\x01"]), "other", ["01"]),
    ],
    ids=str,
)
def test_arrow_of_duckdb_is_read_alike(array: pa.Array, kind: Kind, read: list[Any]) -> None:
    assert canonical(pa.chunked_array([array]), kind).to_pylist() == read
