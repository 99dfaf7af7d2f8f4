from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.tables.building import build_network
from diffmg.tables.database import describe_database
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.keys import Keys, repeats
from diffmg.tables.reading import as_table, key_column

PARTS = st.text(alphabet="ab/\\", max_size=4)


@given(st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=1, max_size=30))
def test_different_keys_of_several_columns_never_become_the_same_text(rows):
    table = pa.table(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    texts = key_column(table, list("abc"), "a table").to_pylist()
    assert len(set(texts)) == len(set(rows))
    assert len({*zip(rows, texts, strict=True)}) == len(set(rows)), "equal keys stay equal"


def test_ids_of_several_columns_stay_readable():
    table = pa.table({"shop": ["k/q", "k", None], "r": ["r", "q/r", "r"], "no": [1, 2, 3]})
    assert key_column(table, ["shop", "r"], "it").to_pylist() == ["k\\/q/r", "k/q\\/r", None]
    assert key_column(table, ["no", "r"], "it").to_pylist() == ["1/r", "2/q\\/r", "3/r"]
    assert key_column(table, ["r"], "it").to_pylist() == ["r", "q/r", "r"], "one column is as it is"
    assert Keys.read(table, ["no"], "it").values.to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("known", "different", "wanted"), [(10, 5, True), (10, 6, False), (0, 0, False), (1, 1, False)]
)
def test_what_repeats(known, different, wanted):
    assert repeats(known, different) is wanted


def seasons() -> dict[str, pa.Table]:
    """Results of teams by year and match: the year repeats, the match numbers the rows."""
    results = {"team": ["x", "y"] * 4, "year": [1, 1, 1, 1, 2, 2, 2, 2], "match": [*range(8)], "goals": [0, 3] * 4}
    return {"results": as_table(results, "results"), "teams": as_table({"team": ["x", "y"]}, "teams")}


def test_parts_of_a_described_id_that_repeat_and_refer_to_nothing_are_features():
    own = ("team", "year", "match")
    described = Description(
        {"result": NodeTable("results", own), "team": NodeTable("teams")},
        {"of": RelationTable("results", ("result", *own), ("team", "team"))},
    )
    network = build_network(described, seasons())
    assert [name for name, _, _ in network.encoders["result"].spans()] == ["year", "goals"]
    years = network.node_column("result", "year").to_numpy().astype(float)
    assert np.allclose(network.features["result"][:, 0], (years - 1.5) / 0.5)


def test_parts_of_a_declared_key_that_repeat_and_refer_to_nothing_are_features(tmp_path: Path):
    path = tmp_path / "league.db"
    db = sqlite3.connect(path)
    db.executescript("""
        CREATE TABLE teams (team TEXT PRIMARY KEY, city TEXT);
        CREATE TABLE results (team TEXT REFERENCES teams, year INTEGER, match INTEGER, won INTEGER,
                              PRIMARY KEY (team, year, match));
        INSERT INTO teams VALUES ('x', 'A'), ('y', 'B');
        INSERT INTO results VALUES ('x', 1, 0, 1), ('y', 1, 1, 0), ('x', 2, 2, 1), ('y', 2, 3, 0);
    """)
    db.commit()
    db.close()
    described = describe_database(str(path), "results.won")
    assert described.nodes["results"] == NodeTable("results", ("team", "year", "match"), ("year",))
