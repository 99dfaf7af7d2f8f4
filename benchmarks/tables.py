"""Write random edges as Parquet, read them as a network, and report seconds and peak memory.

usage: python benchmarks/tables.py --edges 1e7 --out FILE [--ids text]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from diffmg.core.files import read_json, write_json
from diffmg.engine.device import describe_device
from diffmg.runs.runner import versions
from diffmg.tables import Description, read_graph, write_description
from diffmg.tables.description import NodeTable, RelationTable

EDGES_PER_NODE = 10


def write_tables(folder: Path, edges: int, text: bool) -> Path:
    """Users, items with a feature, and edges between them; returns the description."""
    rng = np.random.default_rng(0)
    nodes = max(1, edges // EDGES_PER_NODE)
    user, item = (pa.array(rng.permutation(nodes) * 3) for _ in range(2))
    user, item = (ids.cast(pa.string()) if text else ids for ids in (user, item))
    ends = [ids.take(pa.array(rng.integers(0, nodes, edges))) for ids in (user, item)]
    parquet.write_table(pa.table({"user": user, "age": rng.integers(0, 99, nodes)}), folder / "users.parquet")
    parquet.write_table(pa.table({"item": item, "price": rng.random(nodes)}), folder / "items.parquet")
    parquet.write_table(pa.table({"user": ends[0], "item": ends[1]}), folder / "bought.parquet")
    bought = RelationTable("bought.parquet", ("user", "user"), ("item", "item"))
    types = {"user": NodeTable("users.parquet"), "item": NodeTable("items.parquet")}
    write_description(folder / "network.toml", Description(types, {"bought": bought}))
    return folder / "network.toml"


def read(path: Path, out: Path) -> None:
    """Read the network and write what that took, in this process."""
    before = _peak()
    start = time.perf_counter()
    graph = read_graph(path)
    seconds = time.perf_counter() - start
    edges = {str(relation): matrix.nnz for relation, matrix in graph.adjacency.items()}
    write_json(
        out,
        {
            "seconds": round(seconds, 2),
            "peak_gb": round(_peak(), 3),
            "peak_gb_before": round(before, 3),
            "nodes": dict(graph.num_nodes),
            "edges": edges,
            "device": describe_device(graph.device),
        },
    )


def main() -> None:
    """Write the tables, read them in another process, and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--ids", choices=("numbers", "text"), default="numbers")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        path = write_tables(Path(folder), int(arguments.edges), arguments.ids == "text")
        found = Path(folder) / "found.json"
        command = "import sys; from pathlib import Path; from tables import read; read(*map(Path, sys.argv[1:]))"
        subprocess.run([sys.executable, "-c", command, path, found], check=True, cwd=Path(__file__).parent)
        result = read_json(found, "the result")
    write_json(
        arguments.out,
        {
            "what": f"{int(arguments.edges)} edges from Parquet to a network, ids are {arguments.ids}",
            "command": f"python benchmarks/tables.py --edges {arguments.edges:g} --ids {arguments.ids}",
            "versions": versions(),
            "cores": os.cpu_count(),
            "load_before": round(load, 2),
            **result,
        },
    )
    print(f"{arguments.edges:g} edges: {result['seconds']} s, peak {result['peak_gb']} GB, load before {load:.1f}")


def _peak() -> float:
    """The most memory this process has held, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
