from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

import postgres_server
import shop_database
from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.core.trust import server_of, trust_server
from diffmg.estimators import MetaGraphClassifier
from diffmg.graph.sparse import FixedMatrix
from diffmg.methods.search.diffmg import DiffMG
from diffmg.runs.provenance import data_of
from diffmg.tables import problem_from_tables, read_description, read_graph, write_description
from diffmg.tables.connecting import connected
from diffmg.tables.database import describe_database, read_database
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tasks.node_classification import ClassificationSpec
from diffmg.tasks.problem import Problem

pytest.importorskip("sqlalchemy")

CHURNED = "customers.churned"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SQLite file of six tables."""
    return str(shop_database.make_sqlite(tmp_path_factory.mktemp("shop") / "shop.db"))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    pytest.importorskip("psycopg")
    if reason := postgres_server.lacking():
        pytest.skip(reason)
    with postgres_server.serving() as address:
        yield address


@pytest.fixture(scope="module")
def served_shop(server: str) -> str:
    shop_database.make_postgres(server)
    return server


def made(path: Path, *statements: str) -> str:
    """A SQLite file."""
    connection = sqlite3.connect(path / "made.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return str(path / "made.db")


def problem_of(address: str, target: str = CHURNED, **options: Any) -> Problem:
    description = describe_database(address, target, **options)
    return problem_from_tables(description, read_database(description))


def test_tables_become_node_types_and_keys_relations(shop: str) -> None:
    assert describe_database(shop, CHURNED, seed=3) == Description(
        nodes={
            "customers": NodeTable("customers", ("id",), ("age", "joined")),
            "order": NodeTable("order", ("shop", "no"), ("shop", "placed_at")),
            "products": NodeTable("products", ("id",), ("list price", "maker", "fragile")),
            "regions": NodeTable("regions", ("code",), ("population", "coastal")),
            "reviews": NodeTable("reviews", ("row number",), ("stars", "words")),
        },
        relations={
            "region_code": RelationTable("customers", ("customers", "id"), ("regions", "region_code")),
            "referrer": RelationTable("customers", ("customers", "id"), ("customers", "referrer_id")),
            "order_customer": RelationTable("order", ("order", "shop", "no"), ("customers", "customer_id")),
            "order_products": RelationTable("order_products", ("order", "shop", "no"), ("products", "product_id")),
            "reviews_customer": RelationTable("reviews", ("reviews", "row number"), ("customers", "customer_id")),
            "product": RelationTable("reviews", ("reviews", "row number"), ("products", "product_id")),
        },
        task=ClassificationSpec("customers", ("churned",), seed=3, held_back=("churned_at", "churn_reason")),
        database=shop,
    )


def test_the_network_is_what_the_tables_say(shop: str) -> None:
    graph = problem_of(shop).graph
    data = shop_database.rows()
    customers = [row[0] for row in data["customers"]]
    assert graph.num_nodes == {
        "customers": 240,
        "order": len(data["order"]),
        "products": 60,
        "regions": 6,
        "reviews": 150,
    }
    assert graph.ids_of("customers").tolist() == customers
    assert set(graph.ids_of("order")) == {f"{shop}/{no}" for shop, no, *_ in data["order"]}
    edges = graph.edge_index(Relation("customers", "referrer", "customers")).T.tolist()
    assert edges == [
        [i, customers.index(row[4])]
        for i, row in sorted(enumerate(data["customers"]), key=lambda r: (r[1][4] or "", r[0]))
        if row[4] is not None
    ]
    contents = graph.edge_index(Relation("order", "order_products", "products"))
    named = zip(graph.ids_of("order")[contents[0]], graph.ids_of("products")[contents[1]], strict=True)
    assert set(named) == {(f"{shop}/{no}", product) for shop, no, product in data["order_products"]}
    guests = sum(row[2] is None for row in data["order"])
    assert [n for n in graph.notes if n.startswith(f"relation order_customer: {guests} rows ")]


@pytest.mark.slow
def test_the_planted_joins_are_found_in_the_bare_database(shop: str) -> None:
    problem = problem_of(shop)
    alone = MetaGraphClassifier(method="features", device="cpu").fit(problem)
    found = MetaGraphClassifier(method=DiffMG(depth=4, search_seeds=5), device="cpu").fit(problem)
    joins = (Relation("products", "rev_order_products", "order"), Relation("order", "order_customer", "customers"))
    assert alone.score() < 0.55
    assert found.score() > 0.9
    assert joins in found.metagraphs_[0].paths()


def assert_same_network(one: Problem, other: Problem) -> None:
    assert one.graph.notes == other.graph.notes
    assert data_of(one) == data_of(other)


def dense(features: torch.Tensor | FixedMatrix) -> np.ndarray:
    return (features if isinstance(features, torch.Tensor) else features.forward.to_dense()).numpy()


def test_duckdb_gives_the_same_network(shop: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb_engine")
    path = str(shop_database.make_duckdb(tmp_path / "shop.duckdb"))
    assert replace(describe_database(path, CHURNED), database=shop) == describe_database(shop, CHURNED)
    assert_same_network(problem_of(path), problem_of(shop))
    as_of = {"placed_at": "2024-06-01"}
    assert_same_network(problem_of(path, as_of=as_of), problem_of(shop, as_of=as_of))


def test_postgresql_gives_the_same_network(shop: str, served_shop: str) -> None:
    assert replace(describe_database(served_shop, CHURNED), database=shop) == describe_database(shop, CHURNED)
    assert_same_network(problem_of(served_shop), problem_of(shop))
    as_of = {"placed_at": "2024-06-01"}
    assert_same_network(problem_of(served_shop, as_of=as_of), problem_of(shop, as_of=as_of))


def test_the_order_of_rows_makes_no_difference(shop: str, tmp_path: Path) -> None:
    data = {table: found[::-1] for table, found in shop_database.rows().items()}
    assert_same_network(problem_of(str(shop_database.make_sqlite(tmp_path / "a.db", data))), problem_of(shop))


def test_types_of_postgresql_are_read(server: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA odd")
        connection.execute("SET search_path TO odd")
        connection.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
        connection.execute("CREATE DOMAIN weight AS numeric(6, 2)")
        connection.execute(
            'CREATE TABLE "User" (id uuid PRIMARY KEY, mail text UNIQUE, y mood, w weight, big numeric(20, 0), '
            "at timestamptz, tags text[], doc jsonb, place point)"
        )
        connection.execute('CREATE TABLE visit (id bigserial PRIMARY KEY, mail text REFERENCES "User" (mail), x int)')
        connection.execute(
            "INSERT INTO \"User\" VALUES ('00000000-0000-0000-0000-000000000002', 'b', 'good', 1.25, 7, "
            "'2024-05-01 12:00+02', '{a}', '{}', '(1, 2)'), ('00000000-0000-0000-0000-000000000001', 'a', 'bad', "
            "NULL, NULL, '2024-06-01 12:00+00', NULL, NULL, NULL)"
        )
        connection.execute("INSERT INTO visit (mail, x) VALUES ('b', 1), ('a', 2), (NULL, 3)")
    address = f"{server}?options=-csearch_path%3Dodd"
    description = describe_database(address, "User.y")
    assert description.nodes["User"].features == ("mail", "w", "big", "at")
    assert description.relations["mail"].target == ("User", "mail.id")
    tables = read_database(description)
    assert [str(f.type) for f in tables["User"].select(["id", "w", "big", "at", "y"]).schema] == [
        "string", "double", "int64", "timestamp[us]", "string"
    ]  # fmt: skip
    assert tables["User"]["w"].to_pylist() == [None, 1.25]
    assert tables["visit"]["mail.id"].to_pylist() == [f"{0:08}-0000-0000-0000-{n:012}" for n in (2, 1)] + [None]
    early = read_database(describe_database(address, "User.y", as_of={"at": "2024-05-01T11:00"}))
    assert early["User"]["mail"].to_pylist() == ["b"]


def test_postgresql_cannot_be_written(served_shop: str) -> None:
    with pytest.raises(DiffmgError, match=r"read-only transaction"), connected(served_shop) as connection:
        connection.exec_driver_sql("DELETE FROM reviews")


def test_a_wrong_password_is_told_without_it(served_shop: str) -> None:
    wrong = served_shop.replace(postgres_server.SECRET, "wr0ng")
    with pytest.raises(DiffmgError, match=r"password authentication failed") as caught:
        describe_database(wrong, CHURNED)
    assert "wr0ng" not in str(caught.value)


def test_a_password_is_not_kept_and_is_found_again(
    served_shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = describe_database(served_shop, CHURNED)
    write_description(tmp_path / "shop.toml", description)
    assert postgres_server.SECRET not in (tmp_path / "shop.toml").read_text() + repr(description)
    monkeypatch.setenv("PGPASSWORD", postgres_server.SECRET)
    again = read_description(tmp_path / "shop.toml")
    with pytest.raises(DiffmgError, match="servers that you name yourself"):
        read_database(again)
    trust_server(server_of(served_shop))
    assert read_database(again) == read_database(description)


def test_rows_are_read_as_of_a_time_and_the_file_says_so(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = describe_database(shop, CHURNED, as_of={"placed_at": "2024-06-01"})
    assert description.as_of == {"order.placed_at": "2024-06-01"}
    tables = read_database(description)
    early = [row for row in shop_database.rows()["order"] if str(row[3]) < "2024-06-01"]
    assert 0 < tables["order"].num_rows == len(early) < len(shop_database.rows()["order"])
    write_description(tmp_path / "shop.toml", description)
    monkeypatch.setattr("diffmg.core.trust._outside", [True])
    again = read_description(tmp_path / "shop.toml")
    assert again == description
    assert read_database(again) == tables
    assert problem_from_tables(again, tables).graph.num_nodes["order"] == len(early)


def test_a_label_that_is_a_key_makes_no_relation(shop: str) -> None:
    description = describe_database(shop, "customers.region_code")
    assert "region_code" not in description.relations
    assert "regions" not in description.nodes
    assert description.task == ClassificationSpec("customers", ("region_code",))
    assert problem_of(shop, "customers.region_code").task.outputs == 6


SICKNESS = "CREATE TABLE sickness (id INTEGER PRIMARY KEY, name TEXT)"
PERSON = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, age INTEGER, sick BOOLEAN, "
    "sickness_id INTEGER REFERENCES sickness (id))"
)
PET = (
    "CREATE TABLE pet (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES person (id), "
    "vet INTEGER REFERENCES person (id), kind TEXT)"
)
PEOPLE = "INSERT INTO person VALUES (1, 20, 0, NULL), (2, 30, 1, 1), (3, 40, 1, 1), (4, NULL, 0, NULL)"
PETS = "INSERT INTO pet VALUES (1, 1, NULL, 'cat'), (2, 2, NULL, 'dog')"
SICK = "INSERT INTO sickness VALUES (1, 'flu')"


def test_a_key_that_tells_the_label_makes_no_relation(tmp_path: Path) -> None:
    address = made(tmp_path, SICKNESS, PERSON, PET, SICK, PEOPLE, PETS)
    description = describe_database(address, "person.sick")
    assert isinstance(description.task, ClassificationSpec)
    assert description.task.held_back == ("sickness_id",)
    assert set(description.nodes) == {"person", "pet"}
    assert description.nodes["person"].features == ("age",)


def test_keys_that_no_row_has_and_empty_tables_are_left_out(tmp_path: Path) -> None:
    address = made(tmp_path, SICKNESS, PERSON, PET, PEOPLE.replace("1, 1)", "1, NULL)"), PETS)
    description = describe_database(address, "person.age")
    assert set(description.nodes) == {"person", "pet"}
    assert set(description.relations) == {"owner"}
    assert description.nodes["pet"].features == ("kind",)
    assert description.nodes["person"].features == ("sick",)


def test_tables_that_are_not_linked_are_left_out(tmp_path: Path) -> None:
    address = made(
        tmp_path, SICKNESS, PERSON, PET, PEOPLE, PETS, "CREATE TABLE log (t TEXT)", "INSERT INTO log VALUES (1)"
    )
    assert set(describe_database(address, "person.sick").nodes) == {"person", "pet"}


def test_a_time_that_no_table_in_use_has_is_not_kept(tmp_path: Path) -> None:
    address = made(
        tmp_path, SICKNESS, PERSON, PET, PEOPLE, PETS, "CREATE TABLE log (t DATE)", "INSERT INTO log VALUES (1)"
    )
    assert describe_database(address, "person.sick", as_of={"t": "2024-01-01"}).as_of == {}


def test_several_labels_and_what_tells_any_of_them(tmp_path: Path) -> None:
    columns = "id INTEGER PRIMARY KEY, price REAL, rent REAL, rent_paid REAL, prices_seen REAL, rooms REAL"
    database = made(
        tmp_path,
        "CREATE TABLE street (id INTEGER PRIMARY KEY)",
        f"CREATE TABLE house ({columns}, street INTEGER REFERENCES street)",
        "INSERT INTO street VALUES (1), (2)",
        *(f"INSERT INTO house VALUES ({n}, {n}.5, {n * n}.5, 0, 0, {n % 3}, {1 + n % 2})" for n in range(20)),
    )
    description = describe_database(database, "house.price, rent")
    assert description.task == ClassificationSpec("house", ("price", "rent"), held_back=("prices_seen", "rent_paid"))
    assert description.nodes["house"].features == ("rooms",)
    task: Any = problem_of(database, "house.price, rent").task
    assert (task.kind, task.names) == ("regression", ("price", "rent"))
    assert task.values.tolist() == [[n + 0.5, n * n + 0.5] for n in range(20)]
    with pytest.raises(DiffmgError, match="unknown column of table 'house': 'rnt'; did you mean 'rent'"):
        describe_database(database, "house.price,rnt")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("person", "a target is TABLE.COLUMN, but got 'person'; tables: person, pet, sickness"),
        ("persons.sick", "unknown table of the target: 'persons'; did you mean 'person'"),
        ("person.sik", "unknown column of table 'person': 'sik'; did you mean 'sick'"),
        ("person.id", "a label is a column of classes or numbers, but got 'person.id', a part of the primary key"),
        ("sickness.name", "the table of the target must have rows, but got none in 'sickness'"),
    ],
)
def test_a_bad_target_is_named(target: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=message):
        describe_database(made(tmp_path, SICKNESS, PERSON, PET, PEOPLE, PETS), target)


def test_a_label_of_bytes_is_named(shop: str) -> None:
    with pytest.raises(DiffmgError, match=r"but got 'customers\.photo', whose type"):
        describe_database(shop, "customers.photo")


def test_a_target_without_rows_before_a_time_is_named(shop: str) -> None:
    message = "must have rows, but got none in 'customers' where joined < 1990-01-01"
    with pytest.raises(DiffmgError, match=message):
        describe_database(shop, CHURNED, as_of={"joined": "1990-01-01"})
    description = describe_database(shop, CHURNED)
    with pytest.raises(DiffmgError, match=message):
        read_database(replace(description, as_of={"customers.joined": "1990-01-01"}))


def test_a_label_with_one_class_is_named(tmp_path: Path) -> None:
    address = made(tmp_path, SICKNESS, PERSON, PET, PEOPLE, PETS, "UPDATE person SET sick = 0")
    with pytest.raises(DiffmgError, match=r"two or more classes"):
        problem_of(address, "person.sick")


def test_a_database_without_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"but got none in '.*made\.db'"):
        describe_database(made(tmp_path, "CREATE TABLE a (b)", "DROP TABLE a"), "a.b")


def test_a_database_without_keys_is_named(tmp_path: Path) -> None:
    address = made(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT)", "INSERT INTO a VALUES (1, 'x')")
    with pytest.raises(DiffmgError, match=r"foreign keys must link 'a' to other tables"):
        describe_database(address, "a.b")


def test_keys_to_rows_that_are_not_there_are_counted(tmp_path: Path) -> None:
    address = made(tmp_path, SICKNESS, PERSON, PET, PEOPLE, PETS, "INSERT INTO pet VALUES (3, 99, NULL, 'eel')")
    with pytest.raises(DiffmgError, match=r"1 rows of relation 'owner' with 'person' ids"):
        problem_of(address, "person.sick")


def test_a_description_without_a_database_is_named(shop: str) -> None:
    with pytest.raises(DiffmgError, match=r"but got database=None"):
        read_database(replace(describe_database(shop, CHURNED), database=None))


def edited(shop: str, **parts: Any) -> Description:
    description = describe_database(shop, CHURNED)
    return replace(description, **{name: {**getattr(description, name), **part} for name, part in parts.items()})


def test_a_table_or_column_that_is_not_there_is_named(shop: str) -> None:
    with pytest.raises(DiffmgError, match=r"did you mean 'regions'"):
        read_database(edited(shop, nodes={"regions": NodeTable("region", ("code",))}))
    with pytest.raises(DiffmgError, match=r"did you mean 'population'"):
        read_database(edited(shop, nodes={"regions": NodeTable("regions", ("code",), ("populaton",))}))


def test_without_named_columns_all_that_can_be_features_are_read(shop: str) -> None:
    tables = read_database(edited(shop, nodes={"products": NodeTable("products"), "customers": NodeTable("customers")}))
    assert tables["products"].column_names == ["id", "list price", "maker", "fragile"]
    graph = problem_of(shop).graph
    bare = edited(shop, nodes={"customers": NodeTable("customers")})
    again = problem_from_tables(bare, read_database(bare)).graph
    assert np.array_equal(dense(graph.features["customers"]), dense(again.features["customers"]))


BOOKS = """
[nodes.book]
id = ["kind", "number"]
{0}
[nodes.seller]
[relations.of]
{0}
source = ["book", "kind", "number"]
target = ["seller", "seller"]
"""


def test_features_come_in_the_order_of_columns_as_from_a_file(tmp_path: Path) -> None:
    """Also where a column of the id, here `kind`, is one of them."""
    columns = {"price": range(12), "seller": [*"xyz"] * 4, "kind": ["art", "law", "sea"] * 4, "number": range(12)}
    books = pd.DataFrame(columns)
    books.to_csv(tmp_path / "books.csv", index=False)
    with closing(sqlite3.connect(tmp_path / "books.db")) as connection:
        books.to_sql("books", connection, index=False)
    (tmp_path / "file.toml").write_text(BOOKS.format('file = "books.csv"'))
    (tmp_path / "table.toml").write_text('database = "books.db"\n' + BOOKS.format('table = "books"'))
    of_file, of_table = (read_graph(tmp_path / name).features["book"] for name in ("file.toml", "table.toml"))
    assert of_file.shape[1] > 1
    assert torch.equal(of_file, of_table)


def test_a_link_may_be_weighted_by_hand(shop: str) -> None:
    weighed = RelationTable("reviews", ("customers", "customer_id"), ("products", "product_id"), weight="stars")
    description = edited(shop, relations={"stars": weighed})
    graph = problem_from_tables(description, read_database(description)).graph
    stars = graph.adjacency[Relation("customers", "stars", "products")]
    assert isinstance(stars, sp.csr_matrix)
    assert stars.sum() == pytest.approx(sum(row[2] for row in shop_database.rows()["reviews"]))
