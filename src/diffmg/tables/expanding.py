"""A description of triples becomes one of node types and relations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from diffmg.core import DiffmgError
from diffmg.core.codec import from_plain
from diffmg.tables.connecting import without_password
from diffmg.tables.reading import read_table
from diffmg.tables.triples import Triples, nodes_of_triples, relations_of_triples


def read_triples(triples: Triples, folder: Path, encoding: str, *, drop: bool) -> tuple[pa.Table, pa.Table | None]:
    """The triples with their types, and the table of their nodes."""
    nodes = None if triples.nodes is None else read_table(folder / triples.nodes, encoding)
    return triples.typed(triples.read(folder, encoding), nodes, drop=drop), nodes


def with_relations(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A description as plain values, with the node types and relations that its triples name.

    Relations of the triples that are described already are all that is used of them.
    """
    if "triples" not in data:
        return dict(data)
    if "database" in data:
        address = without_password(str(data["database"]))
        raise DiffmgError(f"[triples] are in a file, but got a database beside them: {address!r}")
    triples = from_plain(Triples, data["triples"], "[triples]")
    drop = data.get("on_unknown") == "drop"
    return merged(data, triples, *read_triples(triples, folder, data.get("encoding", "utf8"), drop=drop))


def merged(data: Mapping[str, Any], triples: Triples, table: pa.Table, nodes: pa.Table | None) -> dict[str, Any]:
    """A description as plain values, with the node types and relations of a table of triples."""
    own, given = relations_of_triples(triples, table), dict(data.get("relations", {}))
    if any(isinstance(r, dict) and r.get("file", r.get("table")) == triples.file for r in given.values()):
        own = {}
    types = nodes_of_triples(triples, own, nodes) | data.get("nodes", {})
    return {**data, "nodes": types, "relations": own | given}
