"""A shop's database with dates: who will not come back?

Customers order every week or two. Most of those whose last delivery was late never order again; that is two tables
away from the customer, and no column says it. `python examples/churn.py shop.db` writes it; README.md says how to ask,
fit and predict.
"""

from __future__ import annotations

import sqlite3
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np

FIRST, DAYS = date(2023, 1, 1), 540
TABLES = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, ordered_on TEXT,
                     amount REAL);
CREATE TABLE deliveries (delivery_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, days INTEGER);
CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, visited_on TEXT,
                     pages INTEGER);
"""


def write_database(path: Path, customers: int = 400, seed: int = 0) -> None:
    """Write customers, their orders with deliveries, and visits that tell nothing."""
    rng = np.random.default_rng(seed)
    orders: list[tuple[object, ...]] = []
    deliveries: list[tuple[object, ...]] = []
    visits: list[tuple[object, ...]] = []
    for customer in range(customers):
        day = int(rng.integers(0, DAYS - 60))
        while day < DAYS:
            late = rng.random() < 0.2
            days = int(rng.integers(8, 15) if late else rng.integers(1, 6))
            deliveries.append((len(deliveries), len(orders), days))
            orders.append((len(orders), customer, str(FIRST + timedelta(day)), round(float(rng.gamma(4, 10)), 2)))
            if rng.random() < (0.7 if late else 0.03):
                break
            day += int(rng.integers(5, 18))
        for _ in range(5):
            visited = FIRST + timedelta(int(rng.integers(0, DAYS)))
            visits.append((len(visits), customer, str(visited), int(rng.integers(1, 9))))
    people = [(i, str(rng.choice(["DE", "FR", "PL"]))) for i in range(customers)]
    rows = {"customers": people, "orders": orders, "deliveries": deliveries, "visits": visits}
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript(TABLES)
        for table, values in rows.items():
            marks = ", ".join("?" * len(values[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
    connection.close()


if __name__ == "__main__":
    write_database(Path(sys.argv[1] if len(sys.argv) > 1 else "shop.db"))
