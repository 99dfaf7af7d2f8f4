"""A small database with times, made at random: customers, their orders with undated items, visits, predictions."""

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

from diffmg.core import Predictions, Source
from diffmg.runs.sources import describe
from diffmg.tables.problem import read_tables

DAYS = 40
FIRST = date(2024, 1, 1)
SCHEMA = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, price REAL);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, ordered_at TEXT,
                     amount REAL, status_code INTEGER);
CREATE TABLE items (item_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders,
                    product_id INTEGER REFERENCES products, quantity REAL);
CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, date TEXT, seconds REAL);
CREATE TABLE churn (customer_id INTEGER REFERENCES customers, date TEXT, gone INTEGER, split TEXT);
"""


def day(number):
    return None if number is None else str(FIRST + timedelta(days=number))


def write_shop(path: Path, seed: int, *, customers: int = 6, orders: int = 30, visits: int = 30) -> Path:
    """Write a new database; some dates are missing, and many are equal."""
    rng = random.Random(seed)

    def some_day():
        return None if rng.random() < 0.05 else day(rng.randrange(DAYS))

    rows = {
        "customers": [(i, rng.choice("AB")) for i in range(customers)],
        "products": [(i, rng.random()) for i in range(5)],
        "orders": [
            (i, rng.choice([None, *range(customers)]), some_day(), rng.gauss(0, 1), rng.randrange(3))
            for i in range(orders)
        ],
        "items": [(i, rng.randrange(orders), rng.randrange(5), rng.random()) for i in range(2 * orders)],
        "visits": [(i, rng.randrange(customers), some_day(), rng.gauss(0, 1)) for i in range(visits)],
        "churn": [
            (customer, day(moment), int(rng.random() < 0.5), part)
            for customer in range(customers)
            for moment, part in ((8, "train"), (15, "train"), (22, "val"), (25, "val"), (30, "test"), (36, "test"))
        ],
    }
    rows["churn"][0], rows["churn"][1] = (0, day(8), 0, "train"), (0, day(15), 1, "train")
    rows["churn"][2], rows["churn"][3] = (0, day(22), 0, "val"), (0, day(25), 1, "val")
    rows["churn"][4], rows["churn"][5] = (0, day(30), 0, "test"), (0, day(36), 1, "test")
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
        for table, values in rows.items():
            marks = ", ".join("?" * len(values[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
    connection.close()
    return path


def shop_source(path: Path, **options) -> Source:
    """The database with its table of predictions."""
    return Source(str(path), predictions=Predictions("churn", label="gone", **options))


def described_shop(path: Path, **options):
    """The description of a shop, and its tables."""
    description = describe(shop_source(path, **options))
    return description, read_tables(description, Path())
