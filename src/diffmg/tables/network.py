"""Tables become a network: ids are mapped to node numbers and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.errors import DiffmgError
from diffmg.graph import HeteroGraph
from diffmg.schema import Relation
from diffmg.tables.columns import encode
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.reading import column, key_column

EXAMPLES = 3


@dataclass(frozen=True)
class Edges:
    """Edges of a relation by node number, with the rows of the table they come from."""

    relation: Relation
    index: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """What the tables hold, before it becomes a `HeteroGraph`."""

    ids: Mapping[str, pa.Array]
    features: Mapping[str, Any]
    edges: Mapping[str, Edges]
    notes: tuple[str, ...]

    def graph(self, edges: Mapping[str, Edges], both: Mapping[str, bool]) -> HeteroGraph:
        """The network with these edges; relations with `both` get their reverse."""
        index, weights = {}, {}
        for name, e in edges.items():
            index[e.relation] = e.index
            if e.weight is not None:
                weights[e.relation] = e.weight
            if both[name] and e.relation.source != e.relation.target:
                back = Relation(e.relation.target, f"rev_{name}", e.relation.source)
                index[back] = e.index[::-1]
                if e.weight is not None:
                    weights[back] = e.weight
        ids = {t: values.to_numpy(zero_copy_only=False) for t, values in self.ids.items()}
        sizes = {t: len(values) for t, values in self.ids.items()}
        graph = HeteroGraph.build(
            sizes, index, self.features, weights=weights, ids={t: _plain(i) for t, i in ids.items()}
        )
        return replace(graph, notes=self.notes)


def build_network(description: Description, tables: Mapping[str, pa.Table]) -> Network:
    """Map all ids and encode all features; unknown ids are an error or dropped, as the description says."""
    ids = {t: _ids(t, n, tables, description) for t, n in description.nodes.items()}
    notes: list[str] = []
    features: dict[str, Any] = {}
    for node_type, node in description.nodes.items():
        if node.table is not None:
            table = tables[node.table]
            encoded = encode(table, _feature_names(node, table, description), node_type)
            notes += encoded.notes
            if encoded.matrix is not None:
                features[node_type] = encoded.matrix
    edges = {}
    for name, relation in description.relations.items():
        edges[name], dropped = _edges(name, relation, tables[relation.table], ids, description)
        notes += dropped
    return Network(ids, features, edges, tuple(notes))


def _ids(node_type: str, node: NodeTable, tables: Mapping[str, pa.Table], description: Description) -> pa.Array:
    """Ids of a type in order: those of its table, or those that relations name."""
    if node.table is not None:
        table = tables[node.table]
        values = key_column(table, node.id or table.column_names[:1], f"nodes {node_type!r}")
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        if values.null_count:
            raise DiffmgError(f"every {node_type!r} node needs an id, but got {values.null_count} rows without one")
        counts = pc.value_counts(values)
        double = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        if len(double):
            raise DiffmgError(
                f"ids of {node_type!r} must be unique, but got {len(double)} more than once, such as "
                f"{double[:EXAMPLES].to_pylist()}"
            )
        return values
    named = [
        key_column(tables[r.table], end[1:], f"relation {name!r}")
        for name, r in description.relations.items()
        for end in (r.source, r.target)
        if end[0] == node_type
    ]
    if not named:
        raise DiffmgError(f"nodes {node_type!r} must have a table or be named by a relation, but got neither")
    _same_types(node_type, [n.type for n in named])
    return pc.unique(pa.chunked_array([c for n in named for c in n.chunks], named[0].type).drop_null())


def _feature_names(node: NodeTable, table: pa.Table, description: Description) -> list[str]:
    if node.features is not None:
        for name in node.features:
            column(table, name, "features")
        return list(node.features)
    ids = set(node.id or table.column_names[:1])
    keys = ids | description.keys_of(node.table or "")
    return [name for name in table.column_names if name not in keys]


def _edges(
    name: str, relation: RelationTable, table: pa.Table, ids: Mapping[str, pa.Array], description: Description
) -> tuple[Edges, list[str]]:
    found, notes = [], []
    keep = np.ones(table.num_rows, bool)
    for end in (relation.source, relation.target):
        values = key_column(table, end[1:], f"relation {name!r}")
        _same_types(f"{end[0]} in relation {name!r}", [ids[end[0]].type, values.type])
        number = pc.index_in(values, value_set=ids[end[0]])
        absent, unknown = values.is_null(), pc.and_(number.is_null(), values.is_valid())
        notes += _unknown_ids(name, end[0], values, unknown, description.on_unknown)
        if values.null_count:
            notes.append(f"relation {name}: {values.null_count} rows without a {end[0]}, left out")
        keep &= ~np.asarray(pc.or_(absent, unknown).to_numpy(), bool)
        found.append(number.fill_null(0).to_numpy().astype(np.int64))
    rows = np.flatnonzero(keep)
    weight = None
    if relation.weight is not None:
        weight = column(table, relation.weight, f"relation {name!r}").to_numpy().astype(np.float64)[rows]
    ends = Relation(relation.source[0], name, relation.target[0])
    return Edges(ends, np.stack(found)[:, rows], weight, rows), notes


def _unknown_ids(name: str, node_type: str, values: Any, unknown: Any, on_unknown: str) -> list[str]:
    bad = values.filter(unknown)
    if not len(bad):
        return []
    examples = pc.unique(bad)[:EXAMPLES].to_pylist()
    if on_unknown == "error":
        raise DiffmgError(
            f"edges must lead to known nodes, but got {len(bad)} rows of relation {name!r} with {node_type!r} ids that "
            f"no node has, such as {examples}; mend them, or leave them out with on_unknown = 'drop'"
        )
    return [f"relation {name}: {len(bad)} rows with unknown {node_type} ids left out, such as {examples}"]


def _same_types(what: str, types: list[pa.DataType]) -> None:
    if len(set(types)) > 1:
        raise DiffmgError(
            f"ids of {what} must be of one type in all tables, but got {sorted(set(map(str, types)))}; "
            "make them all text or all whole numbers"
        )


def _plain(ids: NDArray[Any]) -> NDArray[Any]:
    return ids.astype(str) if ids.dtype == object else ids
