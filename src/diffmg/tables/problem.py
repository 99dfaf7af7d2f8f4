"""A description and its tables become a problem: the network, and the task on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.tables.description import ClassifyTable, Description, RecommendTable, read_description
from diffmg.tables.network import Network, build_network
from diffmg.tables.reading import as_table, column, read_table
from diffmg.tables.recommending import recommendation
from diffmg.tasks import NodeClassification
from diffmg.tasks.labels import class_numbers, random_split, split_numbers
from diffmg.tasks.problem import Problem


def read_problem(path: Path | str) -> Problem:
    """A problem from a TOML description; files are looked for beside it."""
    description = read_description(Path(path))
    return problem_from_tables(description, read_tables(description, Path(path).parent))


def read_graph(path: Path | str) -> HeteroGraph:
    """A network from a TOML description, without the task."""
    description = read_description(Path(path))
    return _graph(description, build_network(description, read_tables(description, Path(path).parent)))


def read_tables(description: Description, folder: Path) -> dict[str, pa.Table]:
    """The tables that a description names: of its database, or files; both are looked for in `folder`."""
    if description.database is not None:
        from diffmg.tables.database import read_database

        address = description.database
        placed = description if "://" in address else replace(description, database=str(folder / address))
        return dict(read_database(placed))
    return {name: read_table(folder / name, description.encoding) for name in description.tables}


def problem_from_tables(description: Description, tables: Mapping[str, Any]) -> Problem:
    """A problem from a description and the tables it names: anything that speaks Arrow, or mappings of columns."""
    arrow = {name: as_table(table, name) for name, table in tables.items()}
    if description.task is None:
        raise DiffmgError(f"a problem needs a task, but got {description.task}; add [task] to the description")
    network = build_network(description, arrow)
    if isinstance(description.task, RecommendTable):
        name = description.task.relation
        task, kept, notes = recommendation(description.task, network, arrow[description.relations[name].table])
        graph = _graph(description, replace(network, edges={**network.edges, name: kept}))
        return Problem(replace(graph, notes=(*graph.notes, *notes)), task)
    return Problem(_graph(description, network), _classification(description, description.task, arrow))


def _graph(description: Description, network: Network) -> HeteroGraph:
    return network.graph(network.edges, {name: r.both for name, r in description.relations.items()})


def _classification(
    description: Description, task: ClassifyTable, tables: Mapping[str, pa.Table]
) -> NodeClassification:
    name = str(description.nodes[task.target].table)
    table = tables[name]
    labels, classes = _labels(table, task)
    if task.split is not None:
        parts = split_numbers(column(table, task.split, name), f"the split column {task.split!r}")
    else:
        strata = labels if labels.ndim == 1 else np.where((labels >= 0).all(axis=1), 0, -1)
        parts = random_split(strata, task.shares, task.seed)
    return NodeClassification.build(task.target, labels, **parts, classes=classes, metric=task.metric)


def _labels(table: pa.Table, task: ClassifyTable) -> tuple[NDArray[np.int64], list[Any]]:
    columns = [column(table, name, f"the labels of {task.target!r}") for name in task.label]
    if len(columns) == 1:
        return class_numbers(columns[0], f"the label column {task.label[0]!r}", task.classes)
    marks = [
        class_numbers(_zeros_and_ones(values), f"the label column {name!r}, one of several,", (0, 1))[0]
        for name, values in zip(task.label, columns, strict=True)
    ]
    return np.stack(marks, axis=1), list(task.label if task.classes is None else task.classes)


def _zeros_and_ones(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.int64()) if pa.types.is_boolean(values.type) else values
