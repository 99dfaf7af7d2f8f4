"""A network, and the task on it, as Parquet files with a description that reads them back."""

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Relation
from diffmg.core.arrow import as_column
from diffmg.core.files import cannot_write, make_folder
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tables.description import Description, NodeTable, RelationTable, write_description
from diffmg.tables.frames import by_name
from diffmg.tasks.problem import Problem

DESCRIPTION = "network.toml"
Tables = dict[str, dict[str, Any]]
"""Columns by file."""


def export_tables(given: Problem | HeteroGraph, folder: Path | str) -> Path:
    """Write a new folder of tables atomically; returns the path of its description for `read_problem`.

    A network without a task is read by `read_graph`. Each relation has a file, reverse relations too.
    """
    graph, task = (given.graph, given.task) if isinstance(given, Problem) else (given, None)
    if graph.timed:
        raise DiffmgError(
            f"tables of a network have no times, but got one with times of {', '.join(sorted(graph.timed))}; "
            "write its description with `diffmg describe` instead"
        )
    tables = TablesOut(graph)
    spec = None if task is None else task.export(tables)
    _write(Path(folder), tables.columns, replace(tables.description, task=spec))
    return Path(folder) / DESCRIPTION


class TablesOut:
    """The tables of a network; a task may add columns and rows."""

    def __init__(self, graph: HeteroGraph) -> None:
        types, self.graph, self.named = graph.schema.node_types, graph, by_name(graph.schema.relations)
        self.columns: Tables = {}
        nodes, relations = {}, {}
        for node_type, file in zip(types, _files("nodes", types), strict=True):
            nodes[node_type], self.columns[file] = _nodes(graph, node_type, file)
        for (name, relation), file in zip(self.named.items(), _files("edges", self.named), strict=True):
            relations[name], self.columns[file] = _edges(graph, name, relation, file)
        self.description = Description(nodes, relations)

    def add_node_columns(self, node_type: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add columns to a type's table."""
        self.columns[str(self.description.nodes[node_type].table)] |= dict(columns)

    def relation_with(self, source: str, target: str, edges: NDArray[np.int64]) -> str:
        """The name of the relation between two types with exactly these edges; raises if there is none."""
        width = self.graph.num_nodes[target]
        wanted = np.unique(edges[0] * width + edges[1])
        for name, relation in self.named.items():
            index, ends = self.graph.edge_index(relation), (relation.source, relation.target)
            if ends == (source, target) and np.array_equal(np.unique(index[0] * width + index[1]), wanted):
                return name
        raise DiffmgError(
            f"an export needs a relation from {source!r} to {target!r} whose edges are the seen pairs, "
            f"but got none of {[str(r) for r in self.graph.schema.relations]}"
        )

    def add_edge_rows(self, relation: str, rows: Mapping[str, Sequence[Any]], edges: NDArray[np.int64]) -> None:
        """Append edges; `rows` are extra columns for all rows, old and new."""
        columns, ends = self.columns[self.description.relations[relation].table], self.named[relation]
        for name, node_type, numbers in zip(("source", "target"), (ends.source, ends.target), edges, strict=True):
            columns[name] = np.concatenate([columns[name], self.graph.ids_of(node_type)[numbers]])
        if "weight" in columns:
            columns["weight"] = np.concatenate([columns["weight"], np.full(edges.shape[1], np.nan)])
        columns |= dict(rows)


def _write(folder: Path, tables: Tables, description: Description) -> None:
    place = folder.resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise DiffmgError(f"an export needs a new or empty folder, but got {str(folder)!r}, which exists already")
    make_folder(place.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as temporary:
            new = Path(temporary) / "new"
            new.mkdir()
            for file, columns in tables.items():
                table = {name: as_column(values, f"column {name!r} of {file!r}") for name, values in columns.items()}
                parquet.write_table(pa.table(table), new / file, compression="zstd")
            write_description(new / DESCRIPTION, description)
            new.replace(place)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _files(prefix: str, names: Iterable[str]) -> list[str]:
    """Unique file names of ASCII letters, digits and underscores."""
    files: list[str] = []
    for name in names:
        stem = f"{prefix}_{re.sub(r'[^A-Za-z0-9_]+', '_', name)}"
        files.append(f"{stem}.parquet" if f"{stem}.parquet" not in files else f"{stem}_{len(files)}.parquet")
    return files


def _nodes(graph: HeteroGraph, node_type: str, file: str) -> tuple[NodeTable, dict[str, Any]]:
    features, columns = graph.features.get(node_type), {"id": graph.ids_of(node_type)}
    if features is None:
        return NodeTable(file, ("id",), features=()), columns
    if isinstance(features, FixedMatrix):
        matrix = features.to_scipy().tocsc()
        dense = (matrix[:, [i]].toarray().ravel() for i in range(matrix.shape[1]))
        return NodeTable(file, ("id",), encode="sparse"), columns | {f"f{i}": values for i, values in enumerate(dense)}
    rows = features.numpy(force=True).T
    return NodeTable(file, ("id",), encode="dense"), columns | {f"f{i}": values for i, values in enumerate(rows)}


def _edges(graph: HeteroGraph, name: str, relation: Relation, file: str) -> tuple[RelationTable, dict[str, Any]]:
    (source, target), weights = graph.edge_index(relation), graph.adjacency[relation].data
    columns = {"source": graph.ids_of(relation.source)[source], "target": graph.ids_of(relation.target)[target]}
    weighted = {"weight": weights} if (weights != 1).any() else {}
    ends = (relation.source, "source"), (relation.target, "target")
    own = None if name == relation.name else relation.name
    return RelationTable(file, *ends, next(iter(weighted), None), both=False, name=own), columns | weighted
