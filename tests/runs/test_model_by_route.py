"""A model never answers for data it was not fitted on, whichever way they come; the order of rows is no difference."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmg import DiffmgError, Model, Problem, make_plan, open_problem, run
from diffmg.core.codec import to_toml
from diffmg.runs.folder import RunFolder
from diffmg.runs.provenance import data_of
from diffmg.tables import problem_from_tables
from diffmg.tables.description import description_from_dict
from library import write_csv

Table = dict[str, list[Any]]
Tables = dict[str, Table]
Data = tuple[Tables, dict[str, Any]]
Change = Callable[[Data, random.Random], Data]
ROUTES = ("csv", "parquet", "sqlite", "duckdb", "python")
PLAN = ("diffmg", {"epochs": 1, "search_seeds": 1}, {"dim": 4, "max_epochs": 3})


def original() -> Data:
    """Authors with features, a label and a learned vector a town; papers; and the task."""
    rng = random.Random(0)
    tables = {
        "authors": {
            "author": [f"a{i}" for i in range(24)],
            "age": [rng.randrange(20, 70) for _ in range(24)],
            "mood": [rng.choice(["good", "bad", "odd"]) for _ in range(24)],
            "field": [("art", "bio")[i % 2] for i in range(24)],
        },
        "papers": {"paper": list(range(100, 140)), "year": [rng.randrange(1990, 2020) for _ in range(40)]},
        "wrote": {"author": [f"a{rng.randrange(24)}" for _ in range(80)], "paper": [100 + i % 40 for i in range(80)]},
        "lives": {"author": [f"a{i}" for i in range(24)], "town": [rng.choice(["Ulm", "Bonn"]) for _ in range(24)]},
    }
    return tables, {"target": "author", "label": "field"}


def described(task: Mapping[str, Any], ending: str, database: str | None) -> dict[str, Any]:
    """The description as plain values."""
    names = {name: f"{name}{ending}" for name in ("authors", "papers", "wrote", "lives")}
    author = ["author", "author"]
    return {
        "nodes": {"author": {"table": names["authors"]}, "paper": {"table": names["papers"]}, "town": {}},
        "relations": {
            "wrote": {"table": names["wrote"], "source": author, "target": ["paper", "paper"]},
            "lives": {"table": names["lives"], "source": author, "target": ["town", "town"]},
        },
        "task": dict(task),
        **({} if database is None else {"database": database}),
    }


def write_database(path: Path, tables: Tables) -> None:
    """The same rows in SQLite or DuckDB."""
    path.unlink(missing_ok=True)
    if path.suffix == ".duckdb":
        import duckdb

        with duckdb.connect(path) as opened:
            for name, table in tables.items():
                opened.register("given", pa.table(table))
                opened.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return
    connection = sqlite3.connect(path)
    for name, table in tables.items():
        kinds = ("BIGINT" if isinstance(values[0], int) else "VARCHAR" for values in table.values())
        columns = ", ".join(f'"{column}" {kind}' for column, kind in zip(table, kinds, strict=True))
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(table))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", [*zip(*table.values(), strict=True)])
    connection.commit()
    connection.close()


def opened(route: str, folder: Path, data: Data) -> Problem:
    """Write the data in the way of a route and open them."""
    tables, task = data
    if route == "python":
        return problem_from_tables(description_from_dict(described(task, "", None)), tables)
    ending = {"csv": ".csv", "parquet": ".parquet"}.get(route, "")
    database = None if ending else f"a.{route}"
    if database is not None:
        write_database(folder / database, tables)
    for name, table in tables.items() if ending else ():
        if route == "csv":
            write_csv(folder / f"{name}.csv", table)
        else:
            parquet.write_table(pa.table(table), folder / f"{name}.parquet")
    (folder / "it.toml").write_text(to_toml(described(task, ending, database)))
    return open_problem(str(folder / "it.toml"))


@pytest.fixture(scope="module", params=ROUTES)
def fitted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """A route, the folder of data and run, and the answers of the model."""
    route, folder = request.param, tmp_path_factory.mktemp("route")
    if route == "duckdb":
        pytest.importorskip("duckdb")
    problem = opened(route, folder, original())
    plan = make_plan(problem.source, *PLAN, device="cpu")
    _, model = run(plan, problem, RunFolder.create(folder / "run"))
    return route, folder, model.answers().to_csv()


def shuffled(data: Data, rng: random.Random) -> Data:
    """Every table in another order of rows."""
    tables = {}
    for name, table in data[0].items():
        order = rng.sample(range(len(next(iter(table.values())))), len(next(iter(table.values()))))
        tables[name] = {column: [values[i] for i in order] for column, values in table.items()}
    return tables, data[1]


def append(data: Data, rng: random.Random) -> Data:
    """A copy of a random row, with a new id where it has one."""
    table = data[0][rng.choice([*data[0]])]
    row = rng.randrange(len(next(iter(table.values()))))
    for number, values in enumerate(table.values()):
        new = number == 0 and len(set(values)) == len(values) and "town" not in table
        values.append((999 if isinstance(values[0], int) else "new") if new else values[row])
    if "town" in table:
        table["town"][-1] = "Kiel"
    if "paper" in table and "author" in table:
        written = {*zip(table["author"][:-1], table["paper"][:-1], strict=True)}
        free = [
            (a, p) for a in data[0]["authors"]["author"] for p in data[0]["papers"]["paper"] if (a, p) not in written
        ]
        table["author"][-1], table["paper"][-1] = rng.choice(free)
    return data


def drop_row(data: Data, rng: random.Random) -> Data:
    table = data[0][rng.choice(["authors", "papers", "lives"])]
    row = rng.randrange(len(next(iter(table.values()))))
    for values in table.values():
        del values[row]
    return data


def rename_class(data: Data, rng: random.Random) -> Data:
    """Of one class to a name on the other side of the other one: the order of the classes turns round."""
    old, new = rng.choice([("art", "zoo"), ("bio", "ant")])
    data[0]["authors"]["field"] = [new if f == old else f for f in data[0]["authors"]["field"]]
    return data


def swap_classes(data: Data, rng: random.Random) -> Data:
    del rng
    data[0]["authors"]["field"] = [{"art": "bio", "bio": "art"}[f] for f in data[0]["authors"]["field"]]
    return data


def rename_id(data: Data, rng: random.Random) -> Data:
    old = rng.choice(data[0]["authors"]["author"])
    for table in data[0].values():
        if "author" in table:
            table["author"] = ["other" if a == old else a for a in table["author"]]
    return data


def drop_column(data: Data, rng: random.Random) -> Data:
    name, column = rng.choice([("authors", "age"), ("authors", "mood"), ("papers", "year")])
    del data[0][name][column]
    return data


def rename_column(data: Data, rng: random.Random) -> Data:
    name, column = rng.choice([("authors", "age"), ("papers", "year")])
    data[0][name][f"{column}_2"] = data[0][name].pop(column)
    return data


def change_cell(data: Data, rng: random.Random) -> Data:
    name, column = rng.choice([("authors", "age"), ("authors", "mood"), ("papers", "year"), ("lives", "town")])
    values = data[0][name][column]
    row = rng.randrange(len(values))
    values[row] = rng.choice([v for v in values if v != values[row]])
    return data


def other_split(data: Data, rng: random.Random) -> Data:
    return data[0], {**data[1], "seed": rng.randrange(1, 99)}


CHANGES: tuple[Change, ...] = (
    append, drop_row, rename_class, swap_classes, rename_id, drop_column, rename_column, change_cell, other_split,
)  # fmt: skip
RULES: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


def used(route: str, folder: Path, data: Data) -> str:
    """Answers and scores of the model on these data."""
    problem = opened(route, folder, data)
    model = Model.load(folder / "run", problem if route == "python" else None)
    return f"{model.answers().to_csv()}{model.scores('test')}"


@settings(max_examples=3, **RULES)
@given(seed=st.integers(0, 2**32))
def test_any_order_of_rows_gives_the_same_answers(fitted: tuple[str, Path, str], seed: int) -> None:
    route, folder, answers = fitted
    assert used(route, folder, shuffled(original(), random.Random(seed))).startswith(answers)


@settings(max_examples=12, **RULES)
@given(change=st.sampled_from(CHANGES), seed=st.integers(0, 2**32), shuffle=st.booleans())
def test_other_data_are_refused(fitted: tuple[str, Path, str], change: Change, seed: int, shuffle: bool) -> None:
    """From Python, a feature of another name and the same numbers is the same feature."""
    route, folder, answers = fitted
    rng = random.Random(seed)
    data = change(deepcopy(original()), rng)
    data = shuffled(data, rng) if shuffle else data
    if route == "python" and change is rename_column:
        assert used(route, folder, data).startswith(answers)
        return
    with pytest.raises(DiffmgError):
        used(route, folder, data)


def test_every_route_gives_the_same_network(tmp_path: Path) -> None:
    hashes = {}
    for route in ROUTES:
        if route == "duckdb":
            pytest.importorskip("duckdb")
        (tmp_path / route).mkdir()
        hashes[route] = data_of(opened(route, tmp_path / route, original())).digests
    assert all(found == hashes["csv"] for found in hashes.values()), hashes
