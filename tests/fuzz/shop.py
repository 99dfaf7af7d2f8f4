"""A shop's database with dates, as plain rows: customers, orders, and a table of predictions."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from fuzz.library import Table, World
from fuzz.writers import columns, quoted, stored

FIRST = date(2024, 1, 1)
DAYS = 60


def day(number: int) -> str:
    """A date as it stands in the tables."""
    return str(FIRST + timedelta(days=number))


def shop(rng: Random) -> World:
    """Two dozen customers, each asked of at six moments; orders on any days, often the same."""
    customers = [*range(rng.randrange(8, 14))]
    count = rng.randrange(30, 60)
    orders: Table = {
        "order_id": [*range(count)],
        "customer_id": [rng.choice(customers) for _ in range(count)],
        "ordered_at": [day(rng.randrange(DAYS)) for _ in range(count)],
        "amount": [round(rng.uniform(1, 90), 2) for _ in range(count)],
    }
    rows: list[tuple[Any, ...]] = [
        (c, day(at), (c + at) % 2, part)
        for c in customers
        for at, part in ((10, "train"), (20, "train"), (31, "val"), (36, "val"), (45, "test"), (50, "test"))
    ]
    churn: Table = {name: [row[i] for row in rows] for i, name in enumerate(("customer_id", "date", "gone", "split"))}
    people: Table = {"customer_id": customers, "country": [rng.choice("AB") for _ in customers]}
    return World({"customers": people, "orders": orders, "churn": churn}, {})


def shop_statements(world: World) -> dict[str, str]:
    """The statements that make the tables of a shop, with keys where the columns are."""
    refers = "REFERENCES customers (customer_id)"
    keys = {"customers": {"customer_id": "PRIMARY KEY"}, "orders": {"order_id": "PRIMARY KEY", "customer_id": refers}}
    keys["churn"] = {"customer_id": refers}
    found = {}
    for name, table in stored(world).tables.items():
        found[name] = f"CREATE TABLE {quoted(name)} ({columns(table, keys.get(name))})"
    return found
