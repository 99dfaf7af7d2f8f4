"""Own tables with times: seconds and peak memory of the network of many dated rows and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.tables import measure_reading
from diffmg.core.options import check_rules, check_types
from diffmg.tables import Description, write_description
from diffmg.tables.description import NodeTable, RelationTable
from diffmg.tables.windows import Moments, WindowTable
from diffmg.tasks.node_classification import ClassificationSpec

WINDOWS = (1, 5, 20)
YEARS = 10


@dataclass(frozen=True)
class DatedOptions:
    """The size of the data."""

    rows: int = 10_000_000
    entities: int = 100_000
    predictions: int = 1_000_000

    def __post_init__(self) -> None:
        check_types(self)
        sizes = {"rows": self.rows, "entities": self.entities, "predictions": self.predictions}
        check_rules(self, {f"{name} >= 10": size >= 10 for name, size in sizes.items()})


def measure_dated(options: DatedOptions) -> dict[str, Any]:
    """Seconds and memory of reading a network of dated rows and predictions."""
    return measure_reading(lambda folder: write_dated(folder, options))


def write_dated(folder: Path, options: DatedOptions) -> Path:
    """Customers, their orders with an amount, and predictions of customers at moments; returns the description."""
    rng = np.random.default_rng(0)
    seconds = YEARS * 365 * 86_400
    start = np.datetime64("2014-01-01", "s")
    orders = {
        "order": np.arange(options.rows),
        "customer": rng.integers(0, options.entities, options.rows),
        "at": start + rng.integers(0, seconds, options.rows),
        "amount": rng.random(options.rows),
    }
    asked = start + np.linspace(seconds // 2, seconds, options.predictions).astype(np.int64)
    share = np.arange(options.predictions) / options.predictions
    part = np.array(["train", "val", "test"])[np.searchsorted([0.6, 0.8], share, side="right")]
    churn = {
        "customer": rng.integers(0, options.entities, options.predictions),
        "at": asked,
        "gone": rng.integers(0, 2, options.predictions),
        "split": part,
    }
    parquet.write_table(pa.table({"customer": np.arange(options.entities)}), folder / "customers.parquet")
    parquet.write_table(pa.table(orders), folder / "orders.parquet")
    parquet.write_table(pa.table(churn), folder / "churn.parquet")
    asked_of = ("predictions", "customer", "at")
    ends = ("orders", "customer"), ("predictions", "customer")
    description = Description(
        {
            "customers": NodeTable("customers.parquet"),
            "orders": NodeTable("orders.parquet", ("order",), time="at"),
            "predictions": NodeTable("churn.parquet", ("customer", "at")),
        },
        {"of": RelationTable("churn.parquet", ("customers", "customer"), asked_of, both=False)},
        ClassificationSpec("predictions", ("gone",), "split"),
        moments=Moments("predictions", "at"),
        windows={f"last {n}": WindowTable(*ends, last=n) for n in WINDOWS},
    )
    write_description(folder / "network.toml", description)
    return folder / "network.toml"
