"""A network, and the task on it, as Parquet files with a description that reads them back."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core.arrow import as_column
from diffmg.core.errors import DiffmgError
from diffmg.core.files import cannot_write, make_folder
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tables.description import (
    ClassifyTable,
    Description,
    NodeTable,
    RecommendTable,
    RelationTable,
    write_description,
)
from diffmg.tables.frames import by_name
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.labels import PARTS
from diffmg.tasks.problem import Problem

DESCRIPTION = "network.toml"
Tables = dict[str, dict[str, Any]]
"""Columns of each file."""


def export_tables(given: Problem | HeteroGraph, folder: Path | str) -> Path:
    """Write a new folder of tables, whole or not at all; returns its description, which `read_problem` reads.

    A network alone is read by `read_graph`. Each relation has a file, those that are reverses of others too.
    """
    graph, task = (given.graph, given.task) if isinstance(given, Problem) else (given, None)
    tables, description = _described(graph)
    if isinstance(task, NodeClassification):
        classify = _classify(task, tables[str(description.nodes[task.target].table)])
        description = replace(description, task=classify)
    if isinstance(task, Recommendation):
        name = _observed(graph, task)
        recommend = _recommend(graph, task, name, tables[description.relations[name].table])
        description = replace(description, task=recommend)
    _write(Path(folder), tables, description)
    return Path(folder) / DESCRIPTION


def _described(graph: HeteroGraph) -> tuple[Tables, Description]:
    types, named = graph.schema.node_types, by_name(graph.schema.relations)
    nodes = {t: _node_table(graph, t, file) for t, file in zip(types, _files("nodes", types), strict=True)}
    relations = {
        name: _relation_table(graph, name, relation, file)
        for (name, relation), file in zip(named.items(), _files("edges", named), strict=True)
    }
    tables = {str(nodes[t].table): _node_columns(graph, t) for t in types}
    tables |= {relations[name].table: _edge_columns(graph, relation) for name, relation in named.items()}
    return tables, Description(nodes, relations)


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
    """A file name for each, of plain letters and no two alike."""
    files: list[str] = []
    for name in names:
        stem = f"{prefix}_{re.sub(r'[^A-Za-z0-9_]+', '_', name)}"
        files.append(f"{stem}.parquet" if f"{stem}.parquet" not in files else f"{stem}_{len(files)}.parquet")
    return files


def _node_columns(graph: HeteroGraph, node_type: str) -> dict[str, Any]:
    features = graph.features.get(node_type)
    columns = {"id": graph.ids_of(node_type)}
    if isinstance(features, FixedMatrix):
        csr = features.forward.cpu()
        parts = (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
        matrix = sp.csr_matrix(parts, shape=features.shape).tocsc()
        return columns | {f"f{i}": matrix[:, [i]].toarray().ravel() for i in range(matrix.shape[1])}
    if features is not None:
        return columns | {f"f{i}": values for i, values in enumerate(features.numpy(force=True).T)}
    return columns


def _node_table(graph: HeteroGraph, node_type: str, file: str) -> NodeTable:
    if node_type not in graph.features:
        return NodeTable(file, ("id",), features=())
    sparse = isinstance(graph.features[node_type], FixedMatrix)
    return NodeTable(file, ("id",), encode="sparse" if sparse else "dense")


def _edge_columns(graph: HeteroGraph, relation: Relation) -> dict[str, Any]:
    source, target = graph.edge_index(relation)
    columns = {"source": graph.ids_of(relation.source)[source], "target": graph.ids_of(relation.target)[target]}
    return columns | ({"weight": graph.adjacency[relation].data} if _is_weighted(graph, relation) else {})


def _relation_table(graph: HeteroGraph, name: str, relation: Relation, file: str) -> RelationTable:
    return RelationTable(
        file,
        (relation.source, "source"),
        (relation.target, "target"),
        weight="weight" if _is_weighted(graph, relation) else None,
        both=False,
        name=None if name == relation.name else relation.name,
    )


def _is_weighted(graph: HeteroGraph, relation: Relation) -> bool:
    return bool((graph.adjacency[relation].data != 1).any())


def _classify(task: NodeClassification, columns: dict[str, Any]) -> ClassifyTable:
    """Adds columns of labels and split."""
    labels = task.labels.numpy(force=True)
    classes = [c.item() if isinstance(c, np.generic) else c for c in task.classes]
    if len({type(c) for c in classes}) > 1 or not isinstance(classes[0], str | int | float):
        classes = [str(c) for c in classes]
    if task.multilabel:
        names = tuple(f"label{i}" for i in range(len(classes)))
        columns |= {name: [None if v < 0 else v for v in marks] for name, marks in zip(names, labels.T, strict=True)}
    else:
        names = ("label",)
        columns["label"] = [None if number < 0 else classes[number] for number in labels]
    split = np.full(len(labels), None, object)
    for part, index in task.parts.items():
        split[index.numpy(force=True)] = part
    columns["split"] = split
    return ClassifyTable(task.target, names, "split", metric=task.metric, classes=tuple(classes))


def _observed(graph: HeteroGraph, task: Recommendation) -> str:
    """The relation from users to items whose edges are what users have been seen to choose."""
    seen = _codes(task, *task.seen.nonzero())
    for name, relation in by_name(graph.schema.relations).items():
        ends = (relation.source, relation.target)
        if ends == task.target_types and np.array_equal(_codes(task, *graph.edge_index(relation)), seen):
            return name
    raise DiffmgError(
        f"an export needs a relation from {task.user!r} to {task.item!r} whose edges are the seen pairs, "
        f"but got none of {[str(r) for r in graph.schema.relations]}"
    )


def _codes(task: Recommendation, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(users.astype(np.int64) * task.shape[1] + items)


def _recommend(graph: HeteroGraph, task: Recommendation, name: str, columns: dict[str, Any]) -> RecommendTable:
    """Adds a row for each supervised pair, and columns of ratings and split."""
    seen = len(columns["source"])
    split: list[Any] = [None] * seen
    added: dict[str, list[Any]] = {name: [values] for name, values in columns.items()} | {"rating": [np.ones(seen)]}
    for part in PARTS:
        labelled = task.parts[part]
        added["source"].append(graph.ids_of(task.user)[labelled.pairs.left.numpy(force=True)])
        added["target"].append(graph.ids_of(task.item)[labelled.pairs.right.numpy(force=True)])
        added["rating"].append(labelled.labels.numpy(force=True))
        if "weight" in added:
            added["weight"].append(np.full(task.size(part), np.nan))
        split += [part] * task.size(part)
    columns |= {name: np.concatenate(values) for name, values in added.items()} | {"split": split}
    return RecommendTable(name, "rating", liked=0.5, split="split", metric=task.metric, exempt=task.exempt, k=task.k)
