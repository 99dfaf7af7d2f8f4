from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Source
from diffmg.runs.sources import open_problem
from diffmg.tables.problem import read_problem

pytest.importorskip("sqlalchemy")


def database(path: Path, dates: Sequence[Any], kind: str = "TEXT") -> str:
    """People with visits, a visit for each date; visits were paid on another day."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE town (id INTEGER PRIMARY KEY, size INTEGER);"
        "CREATE TABLE person (id INTEGER PRIMARY KEY, ill TEXT, born DATE, town_id INTEGER REFERENCES town);"
        f"CREATE TABLE visit (id INTEGER PRIMARY KEY, at {kind}, paid DATE, person_id INTEGER REFERENCES person);"
        "INSERT INTO town VALUES (1, 10), (2, 20);"
    )
    people = [(i, "yes" if i % 3 == 0 else "no", f"19{50 + i}-01-01", 1 + i % 2) for i in range(20)]
    connection.executemany("INSERT INTO person VALUES (?, ?, ?, ?)", people)
    rows = [(i, day, f"2024-0{5 + i % 3}-15", i % 20) for i, day in enumerate(dates)]
    connection.executemany("INSERT INTO visit VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return str(path)


def visits(address: str, time: str) -> tuple[int, tuple[str, ...]]:
    graph = open_problem(Source(address, target="person.ill", as_of={"visit.at": time})).graph
    return graph.num_nodes["visit"], graph.notes


def test_what_was_cut_is_told_for_every_table(tmp_path: Path) -> None:
    days = [f"2024-{1 + i % 12:02}-10" for i in range(24)]
    count, notes = visits(database(tmp_path / "a.db", days), "2024-06-01")
    assert count == 10
    assert "visit: 14 of 24 rows left out, since only those with at before 2024-06-01 are read" in notes
    assert "town: no dates, read whole" in notes
    assert "person: dated before 2024-06-01" in notes


def test_other_dates_after_the_moment_are_told(tmp_path: Path) -> None:
    _, notes = visits(database(tmp_path / "a.db", ["2024-01-10"] * 9), "2024-06-01")
    (note,) = [note for note in notes if note.startswith("leak: ")]
    assert note.startswith("leak: visit.paid is not before 2024-06-01 in 6 of 9 rows that are read")
    assert "--as-of visit.paid=2024-06-01" in note


def test_dates_that_are_held_back_may_be_later(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", ["2024-01-10"] * 9)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE person ADD COLUMN ill_since DATE DEFAULT '2024-08-01'")
    connection.commit()
    connection.close()
    assert not [note for note in visits(path, "2024-06-01")[1] if "ill_since" in note]


@pytest.mark.parametrize("kind", ["TEXT", "DATE", "TIMESTAMP"])
@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2024-05-31", "2024-06-01"),
        ("31.05.2024", "01.06.2024"),
        ("31/05/2024", "01/06/2024"),
        ("05/31/2024", "06/01/2024"),
        ("May 31, 2024", "Jun 1, 2024"),
        ("2024-05-31T23:59:59", "2024-06-01 00:00:00"),
    ],
)
def test_dates_as_text_are_compared_as_dates(tmp_path: Path, kind: str, early: str, late: str) -> None:
    path = database(tmp_path / "a.db", [early, late, early, None, ""], kind)
    assert visits(path, "2024-06-01")[0] == 2


@pytest.mark.parametrize("kind", ["TEXT", "DATE"])
@pytest.mark.parametrize("bad", ["in May", "31/05/24", "2024-02-31x"])
def test_texts_that_are_no_dates_are_refused_with_the_value(tmp_path: Path, kind: str, bad: str) -> None:
    with pytest.raises(DiffmgError, match=rf"dates of visit.at must .* but got '{bad}'"):
        visits(database(tmp_path / "a.db", ["2024-01-01", bad], kind), "2024-06-01")


def test_unclear_dates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"'01/02/2024', which may be 2024-0[12]-0[12] or 2024-0[12]-0[12]"):
        visits(database(tmp_path / "a.db", ["01/02/2024", "03/04/2024"]), "2024-06-01")


def test_numbers_in_an_undeclared_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"times of visit.at must be text, .* but got the number 17"):
        visits(database(tmp_path / "a.db", [1714546800, "2024-01-01"], ""), "2024-06-01")


def test_a_bare_date_stands_for_the_end_of_its_day(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", ["2024-05-30", "2024-05-31", "2024-05-31 08:00"])
    assert visits(path, "2024-05-31T12:00")[0] == 2
    assert visits(path, "2024-06-01")[0] == 3


DESCRIBED = """
{as_of}
on_unknown = "drop"
[nodes.person]
file = "people.csv"
[nodes.visit]
file = "visits.csv"
[relations.of]
file = "visits.csv"
source = ["visit", "id"]
target = ["person", "person"]
[task]
target = "person"
label = "ill"
"""


def files(folder: Path, dates: Sequence[str], as_of: str) -> Path:
    people = "\n".join(f"{i},{'no' if i % 3 else 'yes'}" for i in range(20))
    (folder / "people.csv").write_text(f"id,ill\n{people}\n")
    rows = "\n".join(f'{i},{i % 20},"{day}"' for i, day in enumerate(dates))
    (folder / "visits.csv").write_text(f"id,person,at\n{rows}\n")
    (folder / "a.toml").write_text(DESCRIBED.format(as_of=as_of))
    return folder / "a.toml"


@pytest.mark.parametrize(
    "days", [["2024-05-31", "2024-06-01"], ["31.05.2024", "1.6.2024"], ["31/05/2024", "01/06/2024"]]
)
@pytest.mark.parametrize("column", ["at", "visits.csv.at"])
def test_a_time_applies_to_files_too(tmp_path: Path, days: list[str], column: str) -> None:
    graph = read_problem(files(tmp_path, days * 3, f'as_of = {{"{column}" = "2024-06-01"}}')).graph
    assert graph.num_nodes["visit"] == 3
    assert "visits.csv: 3 of 6 rows left out, since only those with at before 2024-06-01 are read" in graph.notes
    assert "people.csv: no dates, read whole" in graph.notes


def test_unclear_dates_of_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"dates of visits.csv.at must be clear, but got '01/06/2024'"):
        read_problem(files(tmp_path, ["01/06/2024"], 'as_of = {at = "2024-06-01"}'))
