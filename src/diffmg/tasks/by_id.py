"""Frames whose rows name nodes by id, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError, unknown
from diffmg.core.arrow import as_frame, plain
from diffmg.graph.network import HeteroGraph

EXAMPLES = 3


def in_node_order(
    graph: HeteroGraph, node_type: str, frame: Any, id_column: str | None, what: str
) -> tuple[pa.Table, str]:
    """The rows of a frame in the order of the nodes, and the column of their ids; empty rows for nodes without one.

    The ids are in `id_column`, or the one called like the type or `id`, or else the first. Every id must be that of a
    node, and there once.
    """
    table, known = as_frame(frame, what), graph.ids_of(node_type)
    names = table.column_names
    own = id_column or next((name for name in (node_type, "id", *names) if name in names), "")
    values = plain(column_of(table, own, what))
    if values.null_count:
        raise DiffmgError(f"every row of {what} needs an id, but got {values.null_count} without one in {own!r}")
    counts = pc.value_counts(values)
    double = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(double):
        some = double[:EXAMPLES].to_pylist()
        raise DiffmgError(f"ids of {what} must be unique, but got {len(double)} more than once in {own!r}: {some}")
    ids = values.to_numpy()
    index = graph.index_of(node_type, ids.astype(str) if ids.dtype == object else ids)
    rows = np.full(len(known), -1)
    rows[index] = np.arange(len(index))
    return table.take(pa.array(rows, mask=rows < 0)), own


def column_of(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """A column by name; an unknown name raises an error that suggests the nearest."""
    if name not in table.column_names:
        raise unknown(f"column of {what}:", name, table.column_names)
    return table.column(name)


def label_names(table: pa.Table, given: str | Sequence[str] | None, taken: Sequence[str | None]) -> list[str]:
    """The columns of labels: those given, or the only one that is not taken by ids or the split."""
    rest = [name for name in table.column_names if name not in taken]
    if given is None:
        if len(rest) != 1:
            raise DiffmgError(f"the label must be the one column beside the ids, but got {rest}; name it: label=...")
        return rest
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in rest:
            raise unknown("column of the labels:", name, rest)
    return names
