"""Tables that once ended in a traceback or took all memory end in an answer or in one sentence."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from diffmg import DiffmgError, HeteroGraph, Source, make_plan, open_problem, run
from diffmg.core.arrow import sorted_by
from diffmg.core.limits import ID_LENGTH
from diffmg.runs.provenance import data_of
from diffmg.tables import read_problem
from library import TOML, library, write_library

QUICK = ("diffmg", {"epochs": 1, "search_seeds": 1}, {"dim": 4, "max_epochs": 2})


def test_a_type_that_only_an_empty_column_names_has_no_nodes(tmp_path: Path) -> None:
    lives = 'file = "authors.csv"\nsource = ["author", "author"]\ntarget = ["town", "town"]\n'
    town = f"[nodes.town]\n[relations.lives]\n{lives}"
    path = write_library(
        tmp_path, TOML.replace("[task]", f"{town}[task]"), authors=library()["authors"] | {"town": [None] * 12}
    )
    problem = read_problem(path)
    assert "node type town: no nodes" in problem.graph.notes
    assert "relation lives: no edges, left out" in problem.graph.notes
    done, model = run(make_plan(problem.source, *QUICK, device="cpu"), problem)
    assert done.status == "done"
    assert len(model.answers()) == 12


def test_one_very_long_id_is_refused_and_asks_for_no_memory(tmp_path: Path) -> None:
    many = [f"p{i}" for i in range(20_000)]
    papers = {"year": [1990] * 20_001, "paper": [*many, "x" * 500_000]}
    path = write_library(tmp_path, papers=papers, wrote={"author": ["a1"], "paper": ["p1"]})
    with pytest.raises(DiffmgError, match=r"ids of 'paper' must have at most .* but got one of 500000 characters"):
        read_problem(path)
    with pytest.raises(DiffmgError, match="ids of 'a' must have at most"):
        HeteroGraph.build({"a": 2}, {("a", "knows", "a"): [[0], [1]]}, ids={"a": ["x", "y" * (ID_LENGTH + 1)]})


def test_an_id_of_the_greatest_length_is_kept(tmp_path: Path) -> None:
    longest = "x" * ID_LENGTH
    path = write_library(
        tmp_path, papers={"year": [1], "paper": [longest]}, wrote={"author": ["a1"], "paper": [longest]}
    )
    assert read_problem(path).graph.ids_of("paper").tolist() == [longest]


@pytest.mark.parametrize("name", [".id", "a.b", "a[0]", "[0]", "\\", "a b"])
def test_rows_are_sorted_by_columns_of_any_name(name: str) -> None:
    table = pa.table({name: [3, 1, 2, 1], "x": ["c", "b", "d", "a"]})
    assert sorted_by(table, [name, "x"]).column("x").to_pylist() == ["a", "b", "d", "c"]


def database(path: Path, key: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute(f'CREATE TABLE author ("{key}" TEXT PRIMARY KEY, age INT, field TEXT)')
    connection.execute(
        f'CREATE TABLE paper (id INTEGER PRIMARY KEY, day DATE, "{key}" TEXT REFERENCES author ("{key}"))'
    )
    connection.executemany("INSERT INTO author VALUES (?, ?, ?)", [(f"a{i}", i, "xy"[i % 2]) for i in range(20)])
    connection.executemany("INSERT INTO paper VALUES (?, ?, ?)", [(i, "2020-01-01", f"a{i % 20}") for i in range(60)])
    connection.commit()
    connection.close()
    return path


def test_a_key_may_have_the_name_of_a_path(tmp_path: Path) -> None:
    plain, dotted = (
        open_problem(Source(str(database(tmp_path / f"{n}.db", key)), target="author.field"))
        for n, key in enumerate(["id_", ".id"])
    )
    assert [*data_of(plain).facts["nodes"].values()] == [*data_of(dotted).facts["nodes"].values()] == [20, 60]
    assert dotted.graph.ids_of("author").tolist() == plain.graph.ids_of("author").tolist()


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00+14:00", "10000-01-01", "nan", ""])
def test_times_beyond_the_calendar_are_refused(time: str, tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "id_")
    with pytest.raises(DiffmgError, match="a time "):
        open_problem(Source(str(path), target="author.field", as_of={"paper.day": time}))


@pytest.mark.parametrize("time", ["9999-12-31", "9999-12-31T23:59:59"])
def test_the_end_of_the_calendar_is_a_time(time: str, tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "id_")
    assert (
        open_problem(Source(str(path), target="author.field", as_of={"paper.day": time})).graph.num_nodes["paper"] == 60
    )


@pytest.mark.parametrize("time", ["x", "nan", "inf", "2020-01-01"])
def test_a_time_of_a_column_of_numbers_is_a_number(time: str, tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "id_")
    toml = TOML.replace("[nodes.author]", '[as_of]\n"papers.csv.year" = "T"\n\n[nodes.author]').replace(
        '"T"', f'"{time}"'
    )
    for open_it in (
        lambda: open_problem(Source(str(path), target="author.field", as_of={"author.age": time})),
        lambda: read_problem(write_library(tmp_path, toml)),
    ):
        with pytest.raises(DiffmgError, match="is a number, as the column holds"):
            open_it()


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_database_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    """Messages of SQLite may quote bytes of the file that are no text."""
    path, rng = database(tmp_path / "a.db", "id_"), random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(40):
        content[rng.randrange(16, len(content))] = rng.randrange(256)
    path.write_bytes(content)
    try:
        problem = open_problem(Source(str(path), target="author.field"))
    except DiffmgError as error:
        assert str(error)
    else:
        assert problem.graph.num_nodes["author"] > 0


def test_a_message_of_bytes_that_are_no_text_is_shown(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "id_")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE paper", b"CREATE TABLE\xd4paper"))
    with pytest.raises(DiffmgError, match=r"malformed database schema .*\\xd4"):
        open_problem(Source(str(path), target="author.field"))
