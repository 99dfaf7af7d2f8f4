"""Builds a network from tables. Nodes are numbered by sorted id, so the order of rows does not matter."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError, Relation, unknown
from diffmg.core.arrow import numbers
from diffmg.core.codec import from_plain
from diffmg.core.steps import step
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.encoding import FeatureEncoder
from diffmg.tables.ends import chosen_rows, ends_of
from diffmg.tables.keys import Keys, in_one_type, repeats
from diffmg.tables.network import Edges, Ints, Network, Tables
from diffmg.tables.reading import column, notes_of
from diffmg.tables.timing import Timing

EXAMPLES = 3
Encoders = Mapping[str, Any]
"""Fitted encoder per node type, as plain values."""
_Ids = Mapping[str, Keys]


def build_network(
    description: Description, tables: Tables, encoders: Encoders | None = None, *, by_id: bool = True
) -> Network:
    """Map all ids and encode all features; unknown ids are an error or dropped, as the description says.

    `encoders`, if given, are the fitted ones of another network and used instead of fitting new ones. Nodes are
    numbered by id or else by table row; this does not affect fitted encoders.
    """
    step(f"building the network of {len(tables)} tables")
    ids, rows = _numbered(description, tables, by_id)
    timed, fitted = description.moments is not None, encoders is not None
    edges, notes = _all_edges(description, tables, ids, keep_empty=timed and fitted)
    values = {t: keys.values for t, keys in ids.items()}
    notes += [f"node type {t}: no nodes" for t, found in values.items() if not len(found)]
    read = [note for table in tables.values() for note in notes_of(table)]
    network = Network(description, tables, values, rows, {}, {}, edges, (*description.notes, *notes, *read))
    if not timed:
        return _with_features(network, encoders, None)
    timing = Timing.of(network, fitted=fitted)
    return _with_features(timing.network, encoders, timing)


def _numbered(description: Description, tables: Tables, by_id: bool) -> tuple[dict[str, Keys], dict[str, pa.Array]]:
    """Ids in node order, and the row of each node in the types with a table."""
    ids: dict[str, Keys] = {}
    rows: dict[str, pa.Array] = {}
    for node_type, node in description.nodes.items():
        keys = _ids(node_type, node, tables, description)
        _check_text(node_type, keys.values)
        order = pc.sort_indices(keys.values)
        if node.table is not None and not by_id:
            order = pa.array(range(len(order)), pa.int64())
        ids[node_type] = keys.take(order)
        if node.table is not None:
            rows[node_type] = order
            if node.where:
                chosen = chosen_rows(tables[node.table], node.where, f"nodes {node_type!r}")
                rows[node_type] = pa.array(chosen).take(order)
    return ids, rows


def _with_features(network: Network, encoders: Encoders | None, timing: Timing | None) -> Network:
    """The network with its columns as features; dated rows have a constant one at least, never learned vectors."""
    features, fitted, notes = {}, {}, []
    for node_type, order in network.rows.items():
        table = network.tables[str(network.description.nodes[node_type].table)].take(order)
        fitting = pc.sort_indices(network.ids[node_type])
        if timing is not None:
            table, fitting = timing.prepared(node_type, table, fitting)
        encoder = _encoder(node_type, network.description, table, fitting, encoders)
        matrix = encoder.transform(table, f"nodes {node_type!r}")
        if matrix is None and node_type in network.timed:
            matrix = np.ones((len(order), 1), np.float32)
        if matrix is not None:
            features[node_type] = matrix
        fitted[node_type] = encoder
        notes += encoder.notes(table, node_type) if timing is None else timing.notes(encoder, table, node_type)
    return replace(network, features=features, encoders=fitted, notes=(*notes, *network.notes))


def _encoder(
    node_type: str, description: Description, table: pa.Table, fitting: pa.Array, given: Encoders | None
) -> FeatureEncoder:
    """The encoder of a type's columns: the given one, or one newly fitted to some of the rows."""
    if given is not None:
        if node_type not in given:
            raise unknown("node type with a table, when the encoders were fitted:", node_type, given)
        return from_plain(FeatureEncoder, given[node_type], f"encoders of {node_type!r}")
    node = description.nodes[node_type]
    names = description.features_of(node_type, table.column_names)
    for name in names:
        column(table, name, f"nodes {node_type!r}")
    table = table.take(fitting)
    if node.features is None:
        names = [name for name in names if name not in node.id or _repeats(table.column(name))]
    return FeatureEncoder.fit(table, names, node.encode)


def _repeats(values: pa.ChunkedArray) -> bool:
    return repeats(len(values) - values.null_count, pc.count_distinct(values).as_py())


def _all_edges(
    description: Description, tables: Tables, ids: _Ids, *, keep_empty: bool
) -> tuple[dict[str, Edges], list[str]]:
    edges, notes = {}, []
    for name, relation in description.relations.items():
        found, more = _edges(name, relation, tables[relation.table], ids, description.on_unknown == "drop")
        notes += more
        if len(found.rows) or keep_empty:
            edges[name] = found
        else:
            notes.append(f"relation {name}: no edges, left out")
    if not edges:
        raise DiffmgError(f"a network needs one or more relations, but got {len(edges)} with edges; {notes}")
    return edges, notes


def _ids(node_type: str, node: NodeTable, tables: Tables, description: Description) -> Keys:
    """Ids of a type: those of its table, or those that occur in relations."""
    if node.table is not None:
        table = tables[node.table]
        keys = Keys.read(table, node.id or table.column_names[:1], f"nodes {node_type!r}")
        if node.where:
            keys = keys.take(chosen_rows(table, node.where, f"nodes {node_type!r}"))
        _check_unique(node_type, keys.values, description)
        return Keys(keys.values.combine_chunks(), keys.guessed)
    named = [
        keys
        for name, r in description.relations.items()
        if node_type in (r.source[0], r.target[0])
        for end, keys in zip((r.source, r.target), ends_of(name, r, tables[r.table])[:2], strict=True)
        if end[0] == node_type
    ]
    if not named:
        raise DiffmgError(f"nodes {node_type!r} must have a table or be named by a relation, but got neither")
    chunks = [c for values in in_one_type(node_type, named) for c in values.chunks]
    return Keys(pc.unique(pa.chunked_array(chunks).drop_null()), all(keys.guessed for keys in named))


def _check_text(node_type: str, values: Any) -> None:
    """Arrays of text end at a zero character, so that ids with one could become those of other nodes."""
    if not pa.types.is_string(values.type):
        return
    some = values.filter(pc.match_substring(values, "\0"))[:EXAMPLES].to_pylist()
    if some:
        raise DiffmgError(f"ids of {node_type!r} must have no zero character, but got {some}; leave it out")


def _check_unique(node_type: str, values: pa.ChunkedArray, description: Description) -> None:
    if values.null_count:
        raise DiffmgError(
            f"every {node_type!r} node needs an id, but got {values.null_count} rows without one; leave them out"
        )
    counts = pc.value_counts(values)
    double = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(double):
        some = double[:EXAMPLES].to_pylist()
        if description.moments is not None and description.moments.target == node_type:
            raise DiffmgError(
                f"an entity has one prediction at a moment, but got {len(double)} of {node_type!r} more than once, "
                f"such as {some}; leave out the others"
            )
        raise DiffmgError(f"ids of {node_type!r} must be unique, but got {len(double)} more than once, such as {some}")


def _edges(name: str, relation: RelationTable, table: pa.Table, ids: _Ids, drop: bool) -> tuple[Edges, list[str]]:
    *keys, rows = ends_of(name, relation, table)
    source, notes = _node_numbers(name, relation.source[0], keys[0], ids, drop)
    target, more = _node_numbers(name, relation.target[0], keys[1], ids, drop)
    known = np.flatnonzero((source >= 0) & (target >= 0))
    rows, weight = rows[known], None
    if relation.weight is not None:
        weight = numbers(column(table, relation.weight, f"relation {name!r}"), f"weights of relation {name!r}")[rows]
    ends = Relation(relation.source[0], relation.name or name, relation.target[0])
    found = Edges(ends, np.stack([source[known], target[known]]), weight, rows)
    if weight is not None:  # sorted, so that sums of the weights of repeated edges do not depend on the order of rows
        found = found.only(np.lexsort((weight, *found.index[::-1])))
    return found, notes + more


def _node_numbers(name: str, node_type: str, given: Keys, ids: _Ids, drop: bool) -> tuple[Ints, list[str]]:
    """The node number for each id, or -1 for missing and unknown ones."""
    known, values = in_one_type(f"{node_type} in relation {name!r}", [ids[node_type], given])
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
