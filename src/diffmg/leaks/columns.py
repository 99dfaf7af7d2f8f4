"""The feature columns of a node type, by the names they have in their table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core.codec import from_plain
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tables.encoding import FeatureEncoder

WIDE = 64
"""A column of more features than this, such as words, is looked at by which of them are there."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table as the model sees it: one or more features."""

    node_type: str
    name: str
    features: NDArray[np.float32] | sp.csr_matrix
    """One row per node; sparse if wide."""
    gaps: bool = False
    """Whether the last feature says where the value is missing."""

    @property
    def wide(self) -> bool:
        """Whether it has too many features to look at each of them closely."""
        return bool(sp.issparse(self.features))

    def __str__(self) -> str:
        return f"{self.node_type}.{self.name}"


def columns_of(graph: HeteroGraph, node_type: str) -> list[Column]:
    """The columns of a type: named where it was read from a table, else one per feature, or one wide one."""
    found = graph.features.get(node_type)
    if found is None:
        return []
    matrix: Any = found.to_scipy() if isinstance(found, FixedMatrix) else found.numpy(force=True)
    columns, start = [], 0
    for name, width, gaps in _spans(graph, node_type, matrix.shape[1]):
        part = matrix[:, start : start + width]
        part = sp.csr_matrix(part) if width > WIDE else np.asarray(part.toarray() if sp.issparse(part) else part)
        columns.append(Column(node_type, name, part, gaps))
        start += width
    return columns


def _spans(graph: HeteroGraph, node_type: str, width: int) -> list[tuple[str, int, bool]]:
    """Names of columns, how many features each has, and whether the last of them says what is missing."""
    if node_type in graph.encoders:
        encoder = from_plain(FeatureEncoder, graph.encoders[node_type], f"encoders of {node_type!r}")
        spans = encoder.spans()
        if sum(size for _, size, _ in spans) == width:
            return [span for span in spans if span[1]]
    return [(f"feature {i}", 1, False) for i in range(width)] if width <= WIDE else [("features", width, False)]
