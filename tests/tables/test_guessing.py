from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import timed_shop
from diffmg.core import Predictions, Source
from diffmg.core.errors import DiffmgError
from diffmg.graph.fingerprint import graph_digests
from diffmg.runs.sources import open_problem
from diffmg.tables import read_description, read_graph, read_problem, write_description
from diffmg.tables.catalogue import ForeignKey
from diffmg.tables.database import describe_database
from diffmg.tables.guessing import Guess, names_of, words_of
from diffmg.tables.predictions import describe_predictions

pytest.importorskip("duckdb", reason="the extra sql is not installed")

Rows = dict[str, list[dict[str, Any]]]
SHOP: Rows = {
    "categories": [{"id": i, "title": f"t {i}"} for i in range(3)],
    "products": [{"sku": f"p{i}", "price": i + 0.5, "category": i % 3} for i in range(12)],
    "customers": [{"customerId": 100 + i, "age": 20 + i % 7, "churned": i % 2} for i in range(20)],
    "orders": [{"id": i, "customer_id": 100 + i % 20 if i else None, "day": "2024-01-02"} for i in range(60)],
    "order_items": [{"order_id": i % 60, "product_sku": f"p{i % 12}", "quantity": 1 + i % 3} for i in range(90)],
}
KEYS = {
    "categories.id: 3 rows, all different, guessed",
    "customers.customerId: 20 rows, all different, guessed",
    "orders.id: 60 rows, all different, guessed",
    "products.sku: 12 rows, all different, guessed",
    "products.category -> categories.id: 100 % of 12 values, guessed",
    "orders.customer_id -> customers.customerId: 100 % of 59 values, guessed",
    "order_items.order_id -> orders.id: 100 % of 90 values, guessed",
    "order_items.product_sku -> products.sku: 100 % of 90 values, guessed",
}


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def by_pandas(path: Path, tables: Rows) -> str:
    """SQLite as pandas writes it: no key at all."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with sqlite3.connect(path) as connection:
        for name, rows in tables.items():
            pandas.DataFrame(columns(rows)).to_sql(name, connection, index=False)
    connection.close()
    return str(path)


def by_duckdb(path: Path, tables: Rows) -> str:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name, rows in tables.items():
            connection.register("it", pa.table(columns(rows)))
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM it")
    return str(path)


def by_folder(path: Path, tables: Rows) -> str:
    path.mkdir()
    for name, rows in tables.items():
        lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
        (path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{path}/"


MAKERS = {"shop.db": by_pandas, "shop.duckdb": by_duckdb, "shop": by_folder}


@pytest.fixture(params=MAKERS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return MAKERS[request.param](tmp_path / request.param, SHOP)


def test_keys_are_guessed_and_shown_with_their_evidence(address: str):
    described = describe_database(address, "customers.churned")
    assert {*described.notes} == {f"key {text}" for text in KEYS}
    assert {name: node.id for name, node in described.nodes.items()} == {
        "categories": ("id",),
        "customers": ("customerId",),
        "order_items": ("row number",),
        "orders": ("id",),
        "products": ("sku",),
    }
    assert described.on_unknown == "error"
    problem = open_problem(Source(address, target="customers.churned"))
    assert {*described.notes} <= {*problem.graph.notes}
    assert problem.graph.num_nodes == {name: len(rows) for name, rows in sorted(SHOP.items())}
    assert problem.graph.ids_of("customers").tolist() == [100 + i for i in range(20)]


def test_every_kind_of_database_gives_the_same_network(tmp_path: Path):
    graphs = []
    for name, make in MAKERS.items():
        graphs.append(open_problem(Source(make(tmp_path / name, SHOP), target="customers.churned")).graph)
    first, *others = [
        {k: v for k, v in graph_digests(graph).items() if k != "features of orders"} for graph in graphs
    ]  # pandas writes days as text
    assert all(other == first for other in others)


def test_the_written_description_is_edited_and_read_from_another_place(address: str, tmp_path: Path):
    described = describe_database(address, "customers.churned")
    write_description(tmp_path / "net.toml", described)
    assert read_description(tmp_path / "net.toml") == replace(described, database=address)
    digests = graph_digests(read_problem(tmp_path / "net.toml").graph)
    assert digests == graph_digests(open_problem(Source(address, target="customers.churned")).graph)
    fewer = {name: r for name, r in described.relations.items() if name != "category"}
    write_description(tmp_path / "fewer.toml", replace(described, relations=fewer))
    assert {r.name for r in read_graph(tmp_path / "fewer.toml").schema.relations}.isdisjoint(
        {"category", "rev_category"}
    )


def test_nearly_all_values_are_enough_and_the_others_are_dropped(tmp_path: Path):
    tables = SHOP | {"orders": [dict(row) for row in SHOP["orders"]]}
    tables["orders"][5]["customer_id"] = 7
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "customers.churned")
    assert "key orders.customer_id -> customers.customerId: 98.3 % of 59 values, guessed" in described.notes
    assert described.on_unknown == "drop"
    notes = open_problem(Source(str(tmp_path / "a.db"), target="customers.churned")).graph.notes
    assert "relation customer: 1 rows with unknown customers ids left out, such as [7]" in notes


def test_a_column_of_the_very_name_of_the_key_may_hold_many_unknown_values(tmp_path: Path):
    tables = SHOP | {"orders": [row | ({"customer_id": 7} if n < 40 else {}) for n, row in enumerate(SHOP["orders"])]}
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "customers.churned")
    (note,) = (note for note in described.notes if "orders.customer_id" in note)
    assert note.endswith("% of 60 values, guessed")
    assert described.on_unknown == "drop"


def test_under_another_name_most_values_are_not_enough(tmp_path: Path):
    tables = SHOP | {
        "orders": [
            {"buying_customer_id": 7 if n < 10 else row["customer_id"]}
            | {name: value for name, value in row.items() if name != "customer_id"}
            for n, row in enumerate(SHOP["orders"])
        ]
    }
    with pytest.raises(DiffmgError, match=r"names and values \(orders.buying_customer_id.* 83.3 % .*not a key"):
        describe_database(by_pandas(tmp_path / "b.db", tables), "customers.churned")


def test_declared_keys_win(tmp_path: Path):
    """A database that declares one foreign key is taken at its word."""
    path = Path(by_pandas(tmp_path / "a.db", SHOP))
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, c INTEGER REFERENCES customers (customerId))")
        connection.execute("INSERT INTO notes VALUES (1, 100)")
    connection.close()
    described = describe_database(str(path), "customers.churned")
    assert {*described.nodes} == {"customers", "notes"}
    (note,) = described.notes
    assert note.endswith("that no key links to customers, are left out: categories, order_items, orders, products")


def test_the_label_is_no_key(tmp_path: Path):
    tables: Rows = SHOP | {"customers": [row | {"category": i % 3} for i, row in enumerate(SHOP["customers"])]}
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "customers.category")
    assert not [note for note in described.notes if "customers.category" in note]
    unique: Rows = SHOP | {"customers": [{"code": i} | row for i, row in enumerate(SHOP["customers"])]}
    described = describe_database(by_pandas(tmp_path / "b.db", unique), "customers.code")
    assert described.nodes["customers"].id == ("customerId",)


def test_one_to_one_tables_refer_to_the_one_that_they_are_called_like(tmp_path: Path):
    tables: Rows = {
        "users": [{"user_id": i, "plan": "ab"[i % 2]} for i in range(9)],
        "profiles": [{"user_id": i, "city": "xyz"[i % 3]} for i in range(9)],
    }
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "users.plan")
    found = [note for note in described.notes if "->" in note]
    assert found == ["key profiles.user_id -> users.user_id: 100 % of 9 values, guessed"]


def test_text_and_measures_are_no_keys(tmp_path: Path):
    """Rows of a table whose only unique column is free text, or a number, are numbered."""
    tables: Rows = {
        "authors": [{"id": i, "famous": i % 2} for i in range(8)],
        "reviews": [{"words": f"no {i} was good", "length": i, "author_id": i % 8} for i in range(24)],
    }
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "authors.famous")
    assert described.nodes["reviews"].id == ("row number",)
    assert described.nodes["reviews"].features == ("words", "length")


def test_a_timed_task_finds_the_keys_of_a_database_without_them(tmp_path: Path):
    """The same description as with declared keys."""
    declared = timed_shop.write_shop(tmp_path / "declared.db", 3)
    bare = tmp_path / "bare.db"
    with sqlite3.connect(declared) as old, sqlite3.connect(bare) as new:
        for (statement,) in old.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall():
            new.execute(re.sub(r" PRIMARY KEY| REFERENCES \w+", "", statement))
        for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = old.execute(f"SELECT * FROM {name}").fetchall()
            new.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    old.close()
    new.close()
    given = Predictions("churn", label="gone")
    with_keys, guessed = (describe_predictions(str(path), given) for path in (declared, bare))
    assert len([note for note in guessed.notes if "->" in note]) == 4
    assert replace(guessed, notes=(), database=str(declared)) == with_keys


def test_predictions_in_a_file_of_the_folder_are_no_table_of_the_network(tmp_path: Path):
    address = by_folder(tmp_path / "shop", SHOP)
    lines = [f"{100 + i},2024-0{2 + m}-01,{(i + m) % 2}" for i in range(20) for m in range(3)]
    (tmp_path / "shop" / "gone.csv").write_text("customerId,date,gone\n" + "\n".join(lines), encoding="utf-8")
    given = Predictions(str(tmp_path / "shop" / "gone.csv"), validation="2024-03-01", test="2024-04-01")
    described = describe_predictions(address, given)
    assert {*described.nodes} == {*SHOP, "predictions"}


def test_lists_in_a_folder_of_parquet_are_features(tmp_path: Path):
    films = {"film_id": [*range(12)], "genres": [["a", "b"], ["b"], ["c", "a"]] * 4}
    parquet.write_table(pa.table(films), tmp_path / "films.parquet")
    people = {"id": [*range(24)], "film_id": [i % 12 for i in range(24)], "kind": ["x", "y"] * 12}
    parquet.write_table(pa.table(people), tmp_path / "people.parquet")
    graph = open_problem(Source(f"{tmp_path}/", target="people.kind")).graph
    assert graph.features["films"].shape == (12, 3)
    assert "films.genres: several values a cell, in lists, 3 kinds" in graph.notes


@pytest.mark.parametrize(
    ("name", "wanted"), [("customerId", "customer_id"), ("Customer ID", "customer_id"), ("ID", "id"), ("x", "x")]
)
def test_words_of_names(name, wanted):
    assert words_of(name) == wanted


@pytest.mark.parametrize(
    ("table", "wanted"),
    [("customers", "customer"), ("Categories", "category"), ("boxes", "box"), ("address", "address"), ("news", "news")],
)
def test_names_of_rows(table, wanted):
    assert wanted in names_of(table)


def test_large_numbers_are_readable():
    guess = Guess("orders", ForeignKey(("c",), "customers", ("id",)), 1234567, 1234566)
    assert str(guess) == "orders.c -> customers.id: 99.9 % of 1 234 567 values, guessed"


@pytest.mark.parametrize(
    ("files", "message"),
    [({}, "a folder of tables has files"), ({"a.csv": "x\n1\n", "a.tsv": "x\n1\n"}, "needs a name of its own")],
)
def test_folders_that_are_no_database(tmp_path: Path, files: dict[str, str], message: str):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DiffmgError, match=message):
        describe_database(str(tmp_path), "a.x")


def test_a_key_that_other_tables_have_is_better_than_an_id_that_none_refers_to(tmp_path: Path):
    tables: Rows = {
        "People": [{"ID": i, "playerID": f"p{i}", "bats": "LR"[i % 2]} for i in range(20)],
        "Batting": [{"playerID": f"p{i % 20}", "year": 2000 + i % 7} for i in range(60)],
    }
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "People.bats")
    assert described.nodes["People"].id == ("playerID",)
    assert "key Batting.playerID -> People.playerID: 100 % of 60 values, guessed" in described.notes


def test_a_number_called_like_its_own_table_is_no_key(tmp_path: Path):
    """A flight has a number, and that is not the row of another flight."""
    flights = [{"flight_id": i, "flight": i // 2, "carrier": "AB"[i % 2], "late": i % 3 > 0} for i in range(40)]
    tables: Rows = {"flights": flights, "airlines": [{"carrier": c, "name": f"{c} {c}"} for c in "AB"]}
    described = describe_database(by_pandas(tmp_path / "a.db", tables), "flights.late")
    assert [*described.relations] == ["carrier"]
    assert "flight" in (described.nodes["flights"].features or ())


def test_what_is_left_out_is_told_and_how_near_it_was(tmp_path: Path):
    items = [row | {"order_id": row["order_id"] + 60 * (row["order_id"] < 9)} for row in SHOP["order_items"]]
    tables = SHOP | {"towns": [{"town": "x", "size": 3}], "order_items": items}
    address = by_pandas(tmp_path / "a.db", tables)
    near = "key order_items.order_id -> orders.id: 80.0 % of 90 values, not a key: it would take 95 %"
    for target, rest in (
        ("customers.churned", "categories, order_items, products, towns"),
        ("products.price", "customers, orders, towns"),
    ):
        described = describe_database(address, target)
        gone = f"tables without rows, or that no key links to {target.split('.')[0]}, are left out: {rest}"
        assert {near, gone} <= {*described.notes}
        assert described.on_unknown == "error"
