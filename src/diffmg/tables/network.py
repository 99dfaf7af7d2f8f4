"""Builds a network from tables. Nodes are numbered by sorted id, so the order of rows does not matter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Relation, unknown
from diffmg.core.arrow import numbers
from diffmg.core.codec import from_plain, to_plain
from diffmg.graph.network import HeteroGraph
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.encoding import FeatureEncoder
from diffmg.tables.reading import column, is_guessed, key_column, notes_of

EXAMPLES = 3
Tables = Mapping[str, pa.Table]
Encoders = Mapping[str, Any]
"""Fitted encoder per node type, as plain values."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Edges:
    """Edges of a relation by node number, with the table rows they come from."""

    relation: Relation
    index: Ints
    weight: NDArray[np.float64] | None
    rows: Ints

    def only(self, chosen: NDArray[np.bool_ | np.int64]) -> Self:
        """A subset of the edges, or a permutation."""
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, index=self.index[:, chosen], weight=weight, rows=self.rows[chosen])


@dataclass(frozen=True)
class Network:
    """Parsed tables, before they become a `HeteroGraph`; tasks read labels and pairs from here."""

    description: Description
    tables: Tables
    ids: Mapping[str, pa.Array]
    """Ids of each type in node order."""
    rows: Mapping[str, pa.Array]
    """For each type with a table, the row of each node."""
    features: Mapping[str, Any]
    encoders: Mapping[str, FeatureEncoder]
    found: Mapping[str, Edges]
    """Edges by relation; relations without edges are left out."""
    notes: tuple[str, ...]

    def count(self, node_type: str) -> int:
        """Number of nodes of a type."""
        return len(self.ids[node_type])

    def node_column(self, node_type: str, name: str) -> pa.ChunkedArray:
        """A column of a type's table, in node order."""
        table = self.tables[str(self.description.nodes[node_type].table)]
        return column(table, name, f"nodes {node_type!r}").take(self.rows[node_type])

    def edges(self, relation: str) -> tuple[Relation, Ints]:
        """A relation of the description, and its edges as two rows of node numbers."""
        if relation in self.found:
            return self.found[relation].relation, self.found[relation].index
        described = self.description.relations[relation]
        return Relation(described.source[0], relation, described.target[0]), np.empty((2, 0), np.int64)

    def edge_column(self, relation: str, name: str) -> pa.ChunkedArray:
        """A column of a relation's table, in edge order."""
        table = self.tables[self.description.relations[relation].table]
        return column(table, name, f"relation {relation!r}").take(pa.array(self.found[relation].rows))

    def graph(self, kept: Mapping[str, NDArray[np.bool_]], notes: Sequence[str] = ()) -> HeteroGraph:
        """The network; `kept` masks the edges of some relations. Reverse relations are added as described."""
        edges = {name: e.only(kept[name]) if name in kept else e for name, e in self.found.items()}
        graph = HeteroGraph.build(
            {t: len(values) for t, values in self.ids.items()},
            {e.relation: e.index for e in edges.values()},
            self.features,
            weights={e.relation: e.weight for e in edges.values() if e.weight is not None},
            ids={t: _numpy(values) for t, values in self.ids.items()},
            reverse=[e.relation for name, e in edges.items() if self.description.relations[name].both],
        )
        encoders = {t: to_plain(encoder) for t, encoder in self.encoders.items()}
        return replace(graph, notes=(*self.notes, *_repeated(graph, edges), *notes), encoders=encoders)


@dataclass(frozen=True)
class _Keys:
    """Ids from one or more columns."""

    values: Any
    guessed: bool
    """Whether the type was guessed from text, so that integers may really be strings."""

    @classmethod
    def read(cls, table: pa.Table, names: Sequence[str], what: str) -> Self:
        """The ids in these columns of a table."""
        return cls(key_column(table, names, what), is_guessed(table))


_Ids = Mapping[str, _Keys]


def build_network(
    description: Description, tables: Tables, encoders: Encoders | None = None, *, by_id: bool = True
) -> Network:
    """Map all ids and encode all features; unknown ids are an error or dropped, as the description says.

    `encoders`, if given, are the fitted ones of another network and used instead of fitting new ones. Nodes are
    numbered by id or else by table row; this does not affect fitted encoders.
    """
    ids: dict[str, _Keys] = {}
    rows, features, fitted, notes = {}, {}, {}, list[str]()
    for node_type, node in description.nodes.items():
        keys = _ids(node_type, node, tables, description)
        order = sorted_by_id = pc.sort_indices(keys.values)
        if node.table is not None and not by_id:
            order = pa.array(range(len(order)), pa.int64())
        ids[node_type] = _Keys(keys.values.take(order), keys.guessed)
        if node.table is None:
            continue
        table, rows[node_type] = tables[node.table].take(order), order
        fitted[node_type] = _encoder(node_type, description, tables[node.table].take(sorted_by_id), encoders)
        features[node_type] = fitted[node_type].transform(table, f"nodes {node_type!r}")
        notes += fitted[node_type].notes(table, node_type)
    features = {t: matrix for t, matrix in features.items() if matrix is not None}
    edges, more = _all_edges(description, tables, ids)
    values = {t: keys.values for t, keys in ids.items()}
    read = [note for table in tables.values() for note in notes_of(table)]
    return Network(description, tables, values, rows, features, fitted, edges, (*notes, *more, *read))


def _encoder(node_type: str, description: Description, table: pa.Table, given: Encoders | None) -> FeatureEncoder:
    """The encoder of a type's columns: newly fitted, or the given one."""
    if given is not None:
        if node_type not in given:
            raise unknown("node type with a table, when the encoders were fitted:", node_type, given)
        return from_plain(FeatureEncoder, given[node_type], f"encoders of {node_type!r}")
    node = description.nodes[node_type]
    keys = {*(node.id or table.column_names[:1]), *description.keys_of(node.table or "")}
    names = [name for name in table.column_names if name not in keys] if node.features is None else node.features
    for name in names:
        column(table, name, f"nodes {node_type!r}")
    return FeatureEncoder.fit(table, names, node.encode)


def _all_edges(description: Description, tables: Tables, ids: _Ids) -> tuple[dict[str, Edges], list[str]]:
    edges, notes = {}, []
    for name, relation in description.relations.items():
        found, more = _edges(name, relation, tables[relation.table], ids, description.on_unknown == "drop")
        notes += more
        if len(found.rows):
            edges[name] = found
        else:
            notes.append(f"relation {name}: no edges, left out")
    if not edges:
        raise DiffmgError(f"a network needs one or more relations, but got {len(edges)} with edges; {notes}")
    return edges, notes


def _ids(node_type: str, node: NodeTable, tables: Tables, description: Description) -> _Keys:
    """Ids of a type: those of its table, or those that occur in relations."""
    if node.table is not None:
        table = tables[node.table]
        keys = _Keys.read(table, node.id or table.column_names[:1], f"nodes {node_type!r}")
        _check_unique(node_type, keys.values)
        return _Keys(keys.values.combine_chunks(), keys.guessed)
    named = [
        _Keys.read(tables[r.table], end[1:], f"relation {name!r}")
        for name, r in description.relations.items()
        for end in (r.source, r.target)
        if end[0] == node_type
    ]
    if not named:
        raise DiffmgError(f"nodes {node_type!r} must have a table or be named by a relation, but got neither")
    chunks = [c for values in _in_one_type(node_type, named) for c in values.chunks]
    return _Keys(pc.unique(pa.chunked_array(chunks).drop_null()), all(keys.guessed for keys in named))


def _check_unique(node_type: str, values: pa.ChunkedArray) -> None:
    if values.null_count:
        raise DiffmgError(f"every {node_type!r} node needs an id, but got {values.null_count} rows without one")
    counts = pc.value_counts(values)
    double = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(double):
        some = double[:EXAMPLES].to_pylist()
        raise DiffmgError(f"ids of {node_type!r} must be unique, but got {len(double)} more than once, such as {some}")


def _edges(name: str, relation: RelationTable, table: pa.Table, ids: _Ids, drop: bool) -> tuple[Edges, list[str]]:
    source, notes = _node_numbers(name, relation.source, table, ids, drop)
    target, more = _node_numbers(name, relation.target, table, ids, drop)
    rows = np.flatnonzero((source >= 0) & (target >= 0))
    weight = None
    if relation.weight is not None:
        weight = numbers(column(table, relation.weight, f"relation {name!r}"), f"weights of relation {name!r}")[rows]
    ends = Relation(relation.source[0], relation.name or name, relation.target[0])
    found = Edges(ends, np.stack([source[rows], target[rows]]), weight, rows)
    if weight is not None:  # sorted, so that sums of the weights of repeated edges do not depend on the order of rows
        found = found.only(np.lexsort((weight, *found.index[::-1])))
    return found, notes + more


def _node_numbers(name: str, end: Sequence[str], table: pa.Table, ids: _Ids, drop: bool) -> tuple[Ints, list[str]]:
    """The node number for each row, or -1 for missing and unknown ids."""
    node_type, *columns = end
    given = _Keys.read(table, columns, f"relation {name!r}")
    known, values = _in_one_type(f"{node_type} in relation {name!r}", [ids[node_type], given])
    found = pc.index_in(values, value_set=known)
    notes = []
    if found.null_count > values.null_count:
        bad = values.filter(found.is_null()).drop_null()
        some = sorted(pc.unique(bad).to_pylist())[:EXAMPLES]
        if not drop:
            raise DiffmgError(
                f"edges must lead to known nodes, but got {len(bad)} rows of relation {name!r} with {node_type!r} ids "
                f"that no node has, such as {some}; mend them, or leave them out with on_unknown = 'drop'"
            )
        notes.append(f"relation {name}: {len(bad)} rows with unknown {node_type} ids left out, such as {some}")
    if values.null_count:
        notes.append(f"relation {name}: {values.null_count} rows that name no {node_type}, left out")
    return found.fill_null(-1).to_numpy().astype(np.int64), notes


def _in_one_type(what: str, columns: Sequence[_Keys]) -> list[Any]:
    """Cast ids to one type. Integers with a guessed type become text if others are text; else all must agree."""
    types = {c.values.type for c in columns if not pa.types.is_null(c.values.type)}
    guessed = all(c.guessed for c in columns if c.values.type == pa.int64())
    if guessed and types == {pa.int64(), pa.string()}:
        types = {pa.string()}
    if len(types) > 1:
        raise DiffmgError(
            f"ids of {what} must be of one type in all tables, but got {sorted(map(str, types))}; "
            "make them all text or all whole numbers"
        )
    return [c.values.cast(next(iter(types), pa.null())) for c in columns]


def _repeated(graph: HeteroGraph, edges: Mapping[str, Edges]) -> list[str]:
    """A note for each relation with duplicate edges."""
    notes = []
    for name, e in edges.items():
        if count := e.index.shape[1] - graph.adjacency[e.relation].nnz:
            treated = "counted once" if e.weight is None else "their weights added up"
            notes.append(f"relation {name}: {count} rows repeat an edge, {treated}")
    return notes


def _numpy(ids: pa.Array) -> NDArray[Any]:
    values = np.asarray(ids.to_numpy(zero_copy_only=False))
    return values.astype(str) if values.dtype == object else values
