"""Networks from typed NetworkX graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from diffmg.core import DiffmgError
from diffmg.graph.network import CONVERTERS, HeteroGraph

if TYPE_CHECKING:
    import networkx as nx

Triple = tuple[str, str, str]
Table = dict[str, list[Any]]
EXAMPLES = 3


@CONVERTERS.add("from_networkx")
def from_networkx(
    graph: nx.Graph,
    node_type: str = "type",
    edge_type: str = "type",
    *,
    drop: Mapping[str, Sequence[str]] | None = None,
    reverse: bool = False,
) -> HeteroGraph:
    """A network from a graph of any class whose nodes and edges have their type in an attribute.

    Numeric attributes of nodes become features, except those in `drop` (labels, for example); the attribute `weight`
    of an edge is its weight. Undirected edges go both ways; `reverse` adds the reverse edges of a directed graph.
    """
    nodes = _nodes_by_type(graph, node_type)
    known = {node: (kind, name) for kind, members in nodes.items() for node, name in _with_ids(members)}
    tables = {kind: _node_table(graph, members, known, node_type) for kind, members in nodes.items()}
    edges: dict[Triple, Table] = defaultdict(lambda: {"source": [], "target": [], "weight": []})
    for (source_type, source), name, (target_type, target), weight in _edges(graph, edge_type, known):
        table = edges[source_type, name, target_type]
        table["source"].append(source)
        table["target"].append(target)
        table["weight"].append(weight)
    relations = {triple: _drop_unit_weights(table) for triple, table in edges.items()}
    return HeteroGraph.from_tables(tables, relations, drop=drop, reverse=reverse or not graph.is_directed())


def _nodes_by_type(graph: nx.Graph, node_type: str) -> dict[str, list[Hashable]]:
    nodes: dict[str, list[Hashable]] = defaultdict(list)
    untyped: list[Hashable] = []
    for node, kind in graph.nodes(data=node_type):
        (nodes[kind] if isinstance(kind, str) else untyped).append(node)
    if untyped:
        raise DiffmgError(
            f"every node must say its type in the attribute {node_type!r}, but got {len(untyped)} of {len(graph)} "
            f"that do not, such as {untyped[:EXAMPLES]}"
        )
    return dict(nodes)


def _with_ids(nodes: Sequence[Hashable]) -> Iterator[tuple[Hashable, Any]]:
    """Nodes with their ids: as they are if all are text or all are whole numbers, else as text."""
    plain = any(all(type(node) is kind for node in nodes) for kind in (str, int))
    return ((node, node if plain else str(node)) for node in nodes)


def _node_table(
    graph: nx.Graph, nodes: Sequence[Hashable], known: Mapping[Hashable, tuple[str, Any]], node_type: str
) -> Table:
    """Ids, and the attributes whose values are all numbers or missing."""
    found: Table = {}
    for name in dict.fromkeys(name for node in nodes for name in graph.nodes[node] if name != node_type):
        values = [graph.nodes[node].get(name) for node in nodes]
        if all(value is None or isinstance(value, Real) for value in values):
            found[str(name)] = [None if value is None else float(value) for value in values]
    id_column = "id"
    while id_column in found:
        id_column = f"_{id_column}"
    return {id_column: [known[node][1] for node in nodes], **found}


def _edges(
    graph: nx.Graph, edge_type: str, known: Mapping[Hashable, tuple[str, Any]]
) -> Iterator[tuple[tuple[str, Any], str, tuple[str, Any], float]]:
    """Edges as source, name, target, weight.

    An undirected edge takes the direction of the first one with its name and node types; within a type it yields both.
    """
    undirected = not graph.is_directed()
    seen: set[Triple] = set()
    for first, second, data in graph.edges(data=True):
        name = data.get(edge_type)
        if not isinstance(name, str):
            raise DiffmgError(
                f"every edge must say its type in the attribute {edge_type!r}, but got {name!r} for {(first, second)}"
            )
        source, target, weight = known[first], known[second], data.get("weight", 1.0)
        if undirected and (target[0], name, source[0]) in seen:
            source, target = target, source
        seen.add((source[0], name, target[0]))
        yield source, name, target, weight
        if undirected and source[0] == target[0] and first != second:
            yield target, name, source, weight


def _drop_unit_weights(table: Table) -> Table:
    """Drop weights that are all 1, so that edges given twice count once."""
    return {name: values for name, values in table.items() if name != "weight" or any(v != 1 for v in values)}
