"""Typed NetworkX graphs become networks."""

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
    """A network from a graph of any class whose nodes and edges say their type in an attribute.

    Numeric attributes of nodes become features, but for those in `drop` (labels, say); `weight` of edges is their
    weight. Edges of an undirected graph go both ways; `reverse` adds the way back to those of a directed one.
    """
    nodes = _nodes_by_type(graph, node_type)
    known = {node: (kind, name) for kind, members in nodes.items() for node, name in _named(members)}
    tables = {kind: _node_table(graph, members, known, node_type) for kind, members in nodes.items()}
    edges: dict[Triple, Table] = defaultdict(lambda: {"source": [], "target": [], "weight": []})
    for (source_type, source), name, (target_type, target), weight in _edges(graph, edge_type, known):
        table = edges[source_type, name, target_type]
        table["source"].append(source)
        table["target"].append(target)
        table["weight"].append(weight)
    relations = {triple: _without_ones(table) for triple, table in edges.items()}
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


def _named(nodes: Sequence[Hashable]) -> Iterator[tuple[Hashable, Any]]:
    """Nodes with their ids: as they are if all are text or all are whole numbers, else as text."""
    plain = any(all(type(node) is kind for node in nodes) for kind in (str, int))
    return ((node, node if plain else str(node)) for node in nodes)


def _node_table(
    graph: nx.Graph, nodes: Sequence[Hashable], known: Mapping[Hashable, tuple[str, Any]], node_type: str
) -> Table:
    """Ids, and the attributes that are numbers wherever they are given."""
    found: Table = {}
    for name in dict.fromkeys(name for node in nodes for name in graph.nodes[node] if name != node_type):
        values = [graph.nodes[node].get(name) for node in nodes]
        if all(value is None or isinstance(value, Real) for value in values):
            found[str(name)] = [None if value is None else float(value) for value in values]
    own = "id"
    while own in found:
        own = f"_{own}"
    return {own: [known[node][1] for node in nodes], **found}


def _edges(
    graph: nx.Graph, edge_type: str, known: Mapping[Hashable, tuple[str, Any]]
) -> Iterator[tuple[tuple[str, Any], str, tuple[str, Any], float]]:
    """Edges as source, name, target, weight.

    An undirected edge points as the first one with its name and ends did; within a type it is given both ways.
    """
    undirected = not graph.is_directed()
    there: set[Triple] = set()
    for first, second, data in graph.edges(data=True):
        name = data.get(edge_type)
        if not isinstance(name, str):
            raise DiffmgError(
                f"every edge must say its type in the attribute {edge_type!r}, but got {name!r} for {(first, second)}"
            )
        source, target, weight = known[first], known[second], data.get("weight", 1.0)
        if undirected and (target[0], name, source[0]) in there:
            source, target = target, source
        there.add((source[0], name, target[0]))
        yield source, name, target, weight
        if undirected and source[0] == target[0] and first != second:
            yield target, name, source, weight


def _without_ones(table: Table) -> Table:
    """Weights are left out where all of them are 1, so that edges given twice count once."""
    return {name: values for name, values in table.items() if name != "weight" or any(v != 1 for v in values)}
