"""A network from triples in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from diffmg.core import DiffmgError, unknown
from diffmg.graph.network import CONVERTERS, HeteroGraph
from diffmg.tables.building import build_network
from diffmg.tables.description import OnUnknown, description_from_dict
from diffmg.tables.expanding import merged
from diffmg.tables.reading import as_table, column
from diffmg.tables.triples import HEAD, RELATION, TAIL, Triples

TRIPLES, NODES = "triples", "nodes of the triples"
"""Names of the tables in memory."""
COLUMNS = ("head", "relation", "tail", "head_type", "tail_type", "weight", "id", "type")
"""What a column of triples, or of their types, may be."""


@CONVERTERS.add("from_triples")
def graph_from_triples(
    triples: Any,
    types: Any = None,
    *,
    drop: Sequence[str] = (),
    on_unknown: OnUnknown = "error",
    reverse: bool = True,
    **columns: str | None,
) -> HeteroGraph:
    """Implements `HeteroGraph.from_triples`: turns triples and types into a description."""
    if isinstance(types, Mapping) and all(isinstance(kind, str) for kind in types.values()):
        types = {"id": list(types), "type": list(types.values())}
    nodes = None if types is None else as_table(types, "the types")
    for name in columns:
        if name not in COLUMNS:
            raise unknown("option of triples:", name, COLUMNS)
    told = Triples(TRIPLES, nodes=None if nodes is None else NODES, **columns)
    table = told.typed(told.named(as_table(_columns(triples), "the triples")), nodes, drop=on_unknown == "drop")
    data = merged({"on_unknown": on_unknown}, told, table, nodes)
    for relation in data["relations"].values():
        relation["both"] = reverse
    if nodes is not None:
        features = _features(told, nodes, drop)
        data["nodes"] = {t: node | {"features": features} for t, node in data["nodes"].items()}
    tables = {TRIPLES: table} | ({} if nodes is None else {NODES: nodes})
    return build_network(description_from_dict(data), tables, by_id=False).graph({})


def _columns(triples: Any) -> Any:
    """Rows (head, relation, tail) as columns; anything else as it is."""
    if not isinstance(triples, list | tuple):
        return triples
    wrong = next((row for row in triples if not isinstance(row, list | tuple) or len(row) != 3), None)
    if wrong is not None or not triples:
        raise DiffmgError(f"triples are rows (head, relation, tail), but got {wrong if triples else 'none'}")
    return dict(zip((HEAD, RELATION, TAIL), map(list, zip(*triples, strict=True)), strict=True))


def _features(told: Triples, nodes: pa.Table, drop: Sequence[str]) -> list[str]:
    if isinstance(drop, str):
        raise DiffmgError(f"`drop` must be a list of columns, but got {drop!r}")
    for name in drop:
        column(nodes, name, "the types")
    return [name for name in nodes.column_names if name not in (*told.node_columns(nodes), *drop)]
