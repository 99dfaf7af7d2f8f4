"""Strong honest signals are no leaks: the paper's networks, the made ones, a real database."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pyarrow as pa
import pytest

from diffmg.core.plan import Source
from diffmg.datasets import load_dataset
from diffmg.leaks import leak_notes
from diffmg.runs.sources import open_problem
from diffmg.tables.description import description_from_dict
from diffmg.tables.problem import problem_from_tables
from diffmg.tables.reading import read_table
from experiments.networks import NETWORKS
from real_data import needs_data
from shop_database import make_sqlite


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_made_networks_have_no_leaks(name: str, seed: int) -> None:
    assert leak_notes(NETWORKS[name](seed)) == []


@pytest.mark.parametrize("name", ["academic", "shop"])
@pytest.mark.parametrize("seed", [0, 1])
def test_made_data_sets_have_no_leaks(name: str, seed: int) -> None:
    assert leak_notes(load_dataset(name, seed=seed)) == []


@needs_data
@pytest.mark.parametrize("name", ["acm", "amazon", "dblp", "douban", "imdb", "yelp"])
def test_networks_of_the_paper_have_no_leaks_and_it_is_quick(name: str) -> None:
    problem = load_dataset(name)
    start = time.perf_counter()
    assert leak_notes(problem) == []
    assert time.perf_counter() - start < 2


def test_a_database_whose_joins_tell_the_label_has_no_leaks(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    problem = open_problem(Source(str(make_sqlite(tmp_path / "shop.db")), target="customers.churned"))
    assert leak_notes(problem, ["churned"]) == []


KEYS = {"raceId": "races", "driverId": "drivers", "constructorId": "constructors", "circuitId": "circuits"}


@needs_data
@pytest.mark.parametrize(("name", "label"), [("driver-dnf", "did_not_finish"), ("driver-top3", "qualifying")])
def test_races_have_no_leaks(name: str, label: str) -> None:
    """Drivers' results, whenever they were: what they leak is later rows, which is not looked for here."""
    folder = Path(os.environ["DIFFMG_DATA"]) / "rel-f1"
    if not folder.exists():
        pytest.skip("rel-f1 is not there")
    connection = sqlite3.connect(folder / "rel-f1.db")
    tables, nodes, relations = {}, {}, {}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        found = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in found.description]
        rows = zip(*found.fetchall(), strict=True)
        tables[table] = pa.table({n: pa.array(values) for n, values in zip(names, rows, strict=True)})
        nodes[table] = {"file": table}
        for key in set(KEYS) & set(names[1:]):
            ends = {"source": [table, names[0]], "target": [KEYS[key], key]}
            relations[f"{table}_{key}"] = {"file": table, **ends}
    connection.close()
    asked = read_table(folder / "tasks" / f"{name}.csv")
    tables["asked"] = asked.add_column(0, "row", pa.array(range(asked.num_rows)))
    nodes["asked"] = {"file": "asked"}
    relations["about"] = {"file": "asked", "source": ["asked", "row"], "target": ["drivers", "driverId"]}
    task = {"target": "asked", "label": label, "split": "split"}
    described = description_from_dict({"nodes": nodes, "relations": relations, "task": task})
    assert leak_notes(problem_from_tables(described, tables), [label]) == []
