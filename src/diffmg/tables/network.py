"""A network as it is parsed from tables, before it becomes a `HeteroGraph`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import Part, Relation
from diffmg.core.codec import to_plain
from diffmg.graph.checks import check_lengths
from diffmg.graph.network import HeteroGraph
from diffmg.tables.description import Description
from diffmg.tables.encoding import FeatureEncoder
from diffmg.tables.reading import column
from diffmg.tasks.node_task import LabelTimes

Tables = Mapping[str, pa.Table]
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
    timed: frozenset[str] = frozenset()
    """Types whose rows have a time or a moment; relations of a timed network go one way each."""
    when: LabelTimes | None = None
    """Of a timed network, when its predictions are made and their labels known."""
    parts: Mapping[Part, Ints] | None = None
    """Of a timed network, the predictions of each part."""

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

    def _is_mirrored(self, relation: str) -> bool:
        """Whether the reverse relation is added as it is; in a timed network both directions are there already."""
        return not self.timed and self.description.relations[relation].both

    def graph(self, kept: Mapping[str, NDArray[np.bool_]], notes: Sequence[str] = ()) -> HeteroGraph:
        """The network; `kept` masks the edges of some relations. Reverse relations are added as described."""
        edges = {name: e.only(kept[name]) if name in kept else e for name, e in self.found.items()}
        graph = HeteroGraph.build(
            {t: len(values) for t, values in self.ids.items()},
            {e.relation: e.index for e in edges.values()},
            self.features,
            weights={e.relation: e.weight for e in edges.values() if e.weight is not None},
            ids={t: _numpy(t, values) for t, values in self.ids.items()},
            reverse=[e.relation for name, e in edges.items() if self._is_mirrored(name)],
            timed=self.timed,
        )
        encoders = {t: to_plain(encoder) for t, encoder in self.encoders.items()}
        keys = {t: tuple(node.id) for t, node in self.description.nodes.items() if len(node.id) > 1 and t in self.ids}
        return replace(graph, keys=keys, notes=(*self.notes, *_repeated(graph, edges), *notes), encoders=encoders)


def _repeated(graph: HeteroGraph, edges: Mapping[str, Edges]) -> list[str]:
    """A note for each relation with duplicate edges."""
    notes = []
    for name, e in edges.items():
        if count := e.index.shape[1] - graph.adjacency[e.relation].nnz:
            treated = "counted once" if e.weight is None else "their weights added up"
            notes.append(f"relation {name}: {count} rows repeat an edge, {treated}")
    return notes


def _numpy(node_type: str, ids: pa.Array) -> NDArray[Any]:
    if pa.types.is_string(ids.type) and len(ids):
        check_lengths(node_type, len(ids), pc.max(pc.utf8_length(ids)).as_py() or 0)
    values = np.asarray(ids.to_numpy(zero_copy_only=False))
    return values.astype(str) if values.dtype == object else values
