"""Refuses features that are the label: the same values in another column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Task, TaskSpec
from diffmg.core.arrow import plain
from diffmg.tables.columns._base import is_number
from diffmg.tables.network import Network

FEWEST = 30
"""Labels that must agree: fewer may by chance."""


def check_copies(network: Network, spec: TaskSpec, task: Task) -> None:
    """Raise if a feature of the target's table has the label's values in all rows of training and validation."""
    examples, target = task.examples(), task.target_types[0]
    if examples is None or examples.kind == "pair" or target not in network.encoders:
        return
    nodes = examples.nodes[0]
    for label in spec.label_names if len(nodes) >= FEWEST else ():
        known = network.node_column(target, label)
        table = network.tables[str(network.description.nodes[target].table)].column_names
        for name, width, _ in network.encoders[target].spans():
            if width and name in table and _same(known, network.node_column(target, name), nodes):
                raise DiffmgError(
                    f"a feature must not be the label, but got {target}.{name} with the values of {label!r} in all "
                    f"{len(nodes)} rows of training and validation; leave it out of `features` of [nodes.{target}]"
                )


def _same(one: pa.ChunkedArray, other: pa.ChunkedArray, rows: NDArray[np.int64]) -> bool:
    """Whether two columns have equal values in these rows, none of them missing."""
    first, second = _values(one.take(pa.array(rows))), _values(other.take(pa.array(rows)))
    return first.dtype == second.dtype and bool((first == second).all())


def _values(values: pa.ChunkedArray) -> NDArray[Any]:
    """Numbers and booleans as floats, missing ones as NaN; everything else as text."""
    values = plain(values)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if is_number(values.type):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    try:
        texts = values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return np.full(len(values), np.nan)
    return np.asarray([t if t is not None else np.nan for t in texts.to_pylist()], object)
