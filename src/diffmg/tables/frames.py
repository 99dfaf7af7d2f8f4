"""A network from tables in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from diffmg.core import DiffmgError, Relation, unknown
from diffmg.core.arrow import sorted_by
from diffmg.core.codec import to_plain
from diffmg.graph.checks import checked_features, checked_relation
from diffmg.graph.network import CONVERTERS, HeteroGraph
from diffmg.tables.building import EXAMPLES, build_network
from diffmg.tables.description import Description, NodeTable, OnUnknown, RelationTable
from diffmg.tables.encoding import FeatureEncoder
from diffmg.tables.reading import as_table, column
from diffmg.tasks.by_id import in_node_order

WEIGHT = "weight"
"""The weight column of a relation's table, if present."""


@CONVERTERS.add("from_tables")
def graph_from_tables(
    nodes: Mapping[str, Any],
    relations: Mapping[tuple[str, str, str], Any],
    *,
    ids: Mapping[str, str | Sequence[str]] | None = None,
    drop: Mapping[str, Sequence[str]] | None = None,
    split: Mapping[tuple[str, str, str], str] | None = None,
    on_unknown: OnUnknown = "error",
    reverse: bool = True,
) -> HeteroGraph:
    """Implements `HeteroGraph.from_tables`: turns the tables and options into a description."""
    separators = {checked_relation(relation): text for relation, text in (split or {}).items()}
    ids, drop = ids or {}, drop or {}
    for option, given in (("ids", ids), ("drop", drop)):
        for node_type in given:
            if node_type not in nodes:
                raise unknown(f"node type in `{option}`:", node_type, nodes)
    tables = {f"nodes {t!r}": as_table(table, f"nodes {t!r}") for t, table in nodes.items() if table is not None}
    keys = {t: _keys(ids.get(t), tables.get(f"nodes {t!r}")) for t in nodes}
    described = {t: _node_table(t, keys[t], drop.get(t, ()), tables.get(f"nodes {t!r}")) for t in nodes}
    links = {}
    for (name, relation), table in zip(by_name(relations).items(), relations.values(), strict=True):
        tables[name] = as_table(table, f"relation {name!r}")
        link = _relation_table(name, relation, keys, tables[name], reverse)
        links[name] = replace(link, split=separators.pop(relation, None))
    if separators:
        raise unknown("relation in `split`:", str(next(iter(separators))), map(str, by_name(relations).values()))
    return build_network(Description(described, links, on_unknown=on_unknown), tables, by_id=False).graph({})


def _keys(given: str | Sequence[str] | None, table: pa.Table | None) -> tuple[str, ...]:
    """The id columns: those given, or the first column."""
    if given is not None:
        return (given,) if isinstance(given, str) else tuple(given)
    return () if table is None else tuple(table.column_names[:1])


def _node_table(node_type: str, keys: tuple[str, ...], drop: Sequence[str], table: pa.Table | None) -> NodeTable:
    if table is None:
        return NodeTable()
    if isinstance(drop, str):
        raise DiffmgError(f"`drop` must map a node type to a list of columns, but got {drop!r} for {node_type!r}")
    for name in drop:
        column(table, name, f"nodes {node_type!r}")
    features = tuple(name for name in table.column_names if name not in (*keys, *drop))
    return NodeTable(f"nodes {node_type!r}", keys, features)


def by_name(relations: Iterable[Relation | tuple[str, str, str]]) -> dict[str, Relation]:
    """Relations by name, or by their full text if several share a name."""
    given = [checked_relation(relation) for relation in relations]
    names = [relation.name for relation in given]
    return {r.name if names.count(r.name) == 1 else str(r): r for r in given}


def _relation_table(
    name: str, relation: Relation, keys: Mapping[str, tuple[str, ...]], table: pa.Table, reverse: bool
) -> RelationTable:
    """The first columns are the source ids, the next ones the target ids."""
    first, second = (max(1, len(keys.get(end, ()))) for end in (relation.source, relation.target))
    columns, both = table.column_names, first + second
    if len(columns) < both:
        raise DiffmgError(f"the table of relation {name!r} must start with {both} columns of ids, but got {columns}")
    ends = (relation.source, *columns[:first]), (relation.target, *columns[first:both])
    weight = WEIGHT if WEIGHT in columns[both:] else None
    return RelationTable(name, *ends, weight, both=reverse, name=relation.name)


@CONVERTERS.add("with_features")
def with_features(graph: HeteroGraph, node_type: str, frame: Any, id_column: str | None = None) -> HeteroGraph:
    """Implements `HeteroGraph.with_features`."""
    what = f"the features of {node_type!r}"
    table, own = in_node_order(graph, node_type, as_table(frame, what), id_column, what)
    without = graph.ids_of(node_type)[table.column(own).is_null().to_numpy()]
    if len(without):
        some = without[:EXAMPLES].tolist()
        raise DiffmgError(f"every {node_type!r} node needs a row of features, but got none for {len(without)}: {some}")
    names = [name for name in table.column_names if name != own]
    encoder = FeatureEncoder.fit(sorted_by(table, [own]), names, "by_type")
    matrix = encoder.transform(table, what)
    if matrix is None:
        raise DiffmgError(f"{what} must be columns that can be used, but got {encoder.notes(table, node_type)}")
    features = {**graph.features, **checked_features({node_type: matrix}, graph.schema, graph.num_nodes)}
    notes = [note for note in graph.notes if not note.startswith(f"{node_type}.")]
    encoders = {**graph.encoders, node_type: to_plain(encoder)}
    made = replace(graph, features=features, encoders=encoders, notes=(*encoder.notes(table, node_type), *notes))
    return made if graph.device.type == "cpu" else made.to(graph.device)
