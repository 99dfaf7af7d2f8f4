"""User tables: seconds and peak memory of reading a network from Parquet files of random edges."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from diffmg.core.options import check_rules, check_types
from diffmg.tables import Description, read_graph, write_description
from diffmg.tables.description import NodeTable, RelationTable

EDGES_PER_NODE = 10

Ids = Literal["numbers", "text"]


@dataclass(frozen=True)
class TablesOptions:
    """The size of the network."""

    edges: int = 10_000_000
    ids: Ids = "numbers"

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"edges >= 1": self.edges >= 1})


def measure_tables(options: TablesOptions) -> dict[str, Any]:
    """Seconds and memory of reading a network of random edges."""
    return measure_reading(lambda folder: write_tables(folder, options))


def measure_reading(write: Callable[[Path], Path]) -> dict[str, Any]:
    """Write tables, read their description in a separate process, and report time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder))
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(read, path).result()


def write_tables(folder: Path, options: TablesOptions) -> Path:
    """Users, items with a feature, and edges between them; returns the description."""
    rng = np.random.default_rng(0)
    nodes = max(1, options.edges // EDGES_PER_NODE)
    user, item = (pa.array(rng.permutation(nodes) * 3) for _ in range(2))
    user, item = (ids.cast(pa.string()) if options.ids == "text" else ids for ids in (user, item))
    ends = [ids.take(pa.array(rng.integers(0, nodes, options.edges))) for ids in (user, item)]
    parquet.write_table(pa.table({"user": user, "age": rng.integers(0, 99, nodes)}), folder / "users.parquet")
    parquet.write_table(pa.table({"item": item, "price": rng.random(nodes)}), folder / "items.parquet")
    parquet.write_table(pa.table({"user": ends[0], "item": ends[1]}), folder / "bought.parquet")
    bought = RelationTable("bought.parquet", ("user", "user"), ("item", "item"))
    types = {"user": NodeTable("users.parquet"), "item": NodeTable("items.parquet")}
    write_description(folder / "network.toml", Description(types, {"bought": bought}))
    return folder / "network.toml"


def read(path: Path) -> dict[str, Any]:
    """Read the network in this process, and report time and memory."""
    before = _peak()
    start = time.perf_counter()
    graph = read_graph(path)
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 2),
        "peak_gb": round(_peak(), 3),
        "peak_gb_before": round(before, 3),
        "nodes": dict(graph.num_nodes),
        "edges": {str(relation): matrix.nnz for relation, matrix in graph.adjacency.items()},
    }


def _peak() -> float:
    """Peak memory of this process, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
