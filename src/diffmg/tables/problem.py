"""A description and its tables become a problem: the network, and the task on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.errors import DiffmgError
from diffmg.tables.description import ClassifyTable, Description, RecommendTable, read_description
from diffmg.tables.network import build_network
from diffmg.tables.reading import as_table, column, read_table
from diffmg.task import NodeClassification, Part
from diffmg.train.problem import Problem

PARTS: dict[str, Part] = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
}


def read_problem(path: Path) -> Problem:
    """A problem from a TOML description; files are looked for beside it."""
    description = read_description(path)
    names = {n.table for n in description.nodes.values() if n.table} | {r.table for r in description.relations.values()}
    tables = {name: read_table(path.parent / name, description.encoding) for name in sorted(names)}
    return problem_from_tables(description, tables)


def problem_from_tables(description: Description, tables: Mapping[str, Any]) -> Problem:
    """A problem from a description and the tables it names: anything that speaks Arrow, or mappings of columns."""
    arrow = {name: as_table(table, name) for name, table in tables.items()}
    network = build_network(description, arrow)
    if isinstance(description.task, RecommendTable):
        raise DiffmgError(f"recommendation from tables is not there yet, but got {description.task}")
    both = {name: r.both for name, r in description.relations.items()}
    graph = network.graph(network.edges, both)
    return Problem(graph, _classification(description, description.task, arrow))


def _classification(
    description: Description, task: ClassifyTable, tables: Mapping[str, pa.Table]
) -> NodeClassification:
    name = description.nodes[task.target].table
    if name is None:
        raise DiffmgError(f"labels come from the table of {task.target!r}, but got a type without one")
    table = tables[name]
    labels, classes = _labels(table, task)
    if task.split is not None:
        parts = _split_column(column(table, task.split, name))
    else:
        known = labels >= 0 if labels.ndim == 1 else np.ones(len(labels), bool)
        strata = labels if labels.ndim == 1 else np.zeros(len(labels), np.int64)
        parts = random_split(np.where(known, strata, -1), task.shares, task.seed)
    return NodeClassification.build(task.target, labels, **parts, classes=classes, metric=task.metric)


def _labels(table: pa.Table, task: ClassifyTable) -> tuple[NDArray[np.int64], list[Any]]:
    columns = [column(table, name, "labels") for name in task.label]
    if len(columns) > 1:
        return np.stack([c.cast(pa.int64()).fill_null(-1).to_numpy() for c in columns], axis=1), list(task.label)
    values = columns[0]
    classes = sorted(pc.unique(values.drop_null()).to_pylist())
    known = len(values) - values.null_count
    if len(classes) > 100 and len(classes) > known / 5:
        raise DiffmgError(
            f"a label column holds classes, but got {len(classes)} different values in {known} rows of {task.label}"
        )
    codes = pc.index_in(values, value_set=pa.array(classes, values.type)).fill_null(-1).to_numpy()
    return np.asarray(codes, np.int64), classes


def _split_column(values: pa.ChunkedArray) -> dict[str, NDArray[np.int64]]:
    texts = values.cast(pa.string()).to_pylist()
    strange = sorted({t for t in texts if t is not None and t.lower() not in PARTS})
    if strange:
        raise DiffmgError(f"a split column holds train, val, test or nothing, but got {strange[:3]}")
    part = np.array([PARTS[t.lower()] if t is not None else "" for t in texts])
    return {p: np.flatnonzero(part == p) for p in ("train", "val", "test")}


def random_split(
    labels: NDArray[np.int64], shares: tuple[float, float, float], seed: int
) -> dict[str, NDArray[np.int64]]:
    """Node numbers per part, each class divided by the shares; nodes with label -1 are in none."""
    if len(shares) != 3 or min(shares) < 0 or not 0 < sum(shares) <= 1 + 1e-9:
        raise DiffmgError(f"shares are three numbers >= 0 with a sum of at most 1, but got {shares}")
    rng = np.random.default_rng(seed)
    parts: dict[str, list[NDArray[np.int64]]] = {"train": [], "val": [], "test": []}
    for label in np.unique(labels[labels >= 0]):
        members = rng.permutation(np.flatnonzero(labels == label))
        cuts = np.round(np.cumsum(shares) * len(members)).astype(np.int64)
        cuts[0] = max(cuts[0], 1)
        for part, chunk in zip(parts, np.split(members, cuts)[:3], strict=True):
            parts[part].append(chunk)
    empty = np.empty(0, np.int64)
    return {part: np.sort(np.concatenate([empty, *chunks])) for part, chunks in parts.items()}
