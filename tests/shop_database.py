"""A shop in six tables whose customers churn by what they ordered: the same rows for any database."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

CUSTOMERS, PRODUCTS, REGIONS = 240, 60, 6
Rows = list[tuple[Any, ...]]

TABLES = {
    "regions": "code VARCHAR(8) PRIMARY KEY, population BIGINT, coastal BOOLEAN",
    "customers": (
        "id VARCHAR(8) PRIMARY KEY, age INTEGER, joined DATE, region_code VARCHAR(8) REFERENCES regions (code), "
        "referrer_id VARCHAR(8) REFERENCES customers (id), photo BLOB, churned BOOLEAN, churned_at TIMESTAMP, "
        "churn_reason VARCHAR(20)"
    ),
    "products": 'id INTEGER PRIMARY KEY, "list price" DECIMAL(10, 2), maker VARCHAR(20), fragile DOUBLE PRECISION',
    "order": (
        "shop VARCHAR(8), no INTEGER, customer_id VARCHAR(8) REFERENCES customers (id), placed_at TIMESTAMP, "
        "PRIMARY KEY (shop, no)"
    ),
    "order_products": (
        "shop VARCHAR(8), no INTEGER, product_id INTEGER REFERENCES products (id), "
        'PRIMARY KEY (shop, no, product_id), FOREIGN KEY (shop, no) REFERENCES "order" (shop, no)'
    ),
    "reviews": (
        "customer_id VARCHAR(8) REFERENCES customers (id), product_id INTEGER REFERENCES products (id), "
        "stars DECIMAL(2, 1), words TEXT"
    ),
}
"""In an order in which every foreign key finds its table."""


def rows(seed: int = 0) -> dict[str, Rows]:
    """A customer churns where most of the ordered products are fragile; nothing nearer tells."""
    rng = np.random.default_rng(seed)
    start = datetime(2024, 1, 1)
    fragile = np.arange(PRODUCTS) % 2 == 0
    churned = rng.random(CUSTOMERS) < 0.5
    orders, contents, number = [], [], 0
    for customer in [*range(CUSTOMERS), *[None] * 20]:
        leans = rng.random() < 0.5 if customer is None else churned[customer]
        for _ in range(rng.integers(2, 5)):
            number += 1
            place = ("north" if rng.random() < 0.5 else "south", number)
            owner = None if customer is None else f"c{customer:03}"
            orders.append((*place, owner, start + timedelta(hours=int(rng.integers(9000)))))
            likely = np.where(fragile == leans, 0.95, 0.05)
            picked = rng.choice(PRODUCTS, 3, replace=False, p=likely / likely.sum())
            contents += [(*place, int(p)) for p in sorted(picked)]
    return {
        "regions": [(f"r{i}", int(rng.integers(1e6)), bool(i % 2)) for i in range(REGIONS)],
        "customers": [_customer(i, bool(churned[i]), start, rng) for i in range(CUSTOMERS)],
        "products": [_product(i, bool(fragile[i]), rng) for i in range(PRODUCTS)],
        "order": orders,
        "order_products": contents,
        "reviews": [_review(rng) for _ in range(150)],
    }


def _customer(i: int, churned: bool, start: datetime, rng: np.random.Generator) -> tuple[Any, ...]:
    day = start - timedelta(days=int(rng.integers(2000)))
    return (
        f"c{i:03}",
        None if i % 7 == 0 else int(rng.integers(18, 90)),
        day.date(),
        None if i % 11 == 0 else f"r{rng.integers(REGIONS)}",
        f"c{rng.integers(i):03}" if i and i % 3 == 0 else None,
        b"\x00\xff" if i % 2 else None,
        churned,
        start + timedelta(days=400) if churned else None,
        ("price", "broken")[i % 2] if churned else None,
    )


def _product(i: int, fragile: bool, rng: np.random.Generator) -> tuple[Any, ...]:
    price = None if i % 13 == 0 else round(float(rng.uniform(1, 90)), 2)
    return (i, price, ("anvil", "bell", "crown")[i % 3], float(fragile) + float(rng.normal(0, 0.1)))


def _review(rng: np.random.Generator) -> tuple[Any, ...]:
    words = rng.choice(["good", "bad", "late", "fine", "soft", "loud"], 4)
    return (f"c{rng.integers(CUSTOMERS):03}", int(rng.integers(PRODUCTS)), rng.integers(2, 11) / 2, " ".join(words))


def create(table: str, blob: str = "BLOB") -> str:
    """The statement that makes a table."""
    return f'CREATE TABLE "{table}" ({TABLES[table].replace("BLOB", blob)})'


def make_sqlite(path: Path, data: dict[str, Rows] | None = None) -> Path:
    """The shop as a SQLite file: times as text, booleans as 0 and 1."""
    connection = sqlite3.connect(path)
    for table, found in (data or rows()).items():
        connection.execute(create(table))
        plain = [tuple(str(v) if hasattr(v, "year") else v for v in row) for row in found]
        _insert(connection.executemany, table, plain, "?")
    connection.commit()
    connection.close()
    return path


def make_duckdb(path: Path) -> Path:
    """The shop as a DuckDB file."""
    import duckdb

    connection = duckdb.connect(path)
    connection.execute("BEGIN")
    for table, found in rows().items():
        connection.execute(create(table))
        _insert(connection.executemany, table, found, "?")
    connection.execute("COMMIT")
    connection.close()
    return path


def make_postgres(address: str) -> None:
    """The shop on a PostgreSQL server."""
    import psycopg

    with psycopg.connect(address) as connection:
        for table, found in rows().items():
            connection.execute(create(table, "BYTEA"))
            _insert(connection.cursor().executemany, table, found, "%s")


def _insert(execute: Any, table: str, found: Rows, mark: str) -> None:
    execute(f'INSERT INTO "{table}" VALUES ({", ".join([mark] * len(found[0]))})', found)
