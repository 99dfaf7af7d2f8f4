"""A heterogeneous network with its data: typed CSR adjacencies, features, ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Engine, Registry, Relation, Schema
from diffmg.core.pictured import Pictured
from diffmg.core.settings import Aggregate
from diffmg.core.text import shortened
from diffmg.graph.aggregation import Propagation, equal, has_weights, propagation_of
from diffmg.graph.checks import (
    checked_counts,
    checked_edges,
    checked_features,
    checked_ids,
    checked_relation,
    checked_weights,
)
from diffmg.graph.lookup import rows_of
from diffmg.graph.sparse import FixedMatrix

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import HeteroData

Features = Tensor | FixedMatrix
RelationLike = Relation | tuple[str, str, str]
E = TypeVar("E", Relation, tuple[str, str, str], RelationLike)
W = TypeVar("W", Relation, tuple[str, str, str], RelationLike)


SHOWN = 5
"""Types and relations that `repr` shows."""
CONVERTERS: Registry[Callable[..., Any]] = Registry(
    "converter",
    "diffmg.graph.pyg",
    "diffmg.graph.networkx",
    "diffmg.tables.frames",
    "diffmg.tables.from_triples",
    "diffmg.tables.ratings",
    group="diffmg.converters",
)
"""Conversions to and from a network, looked up by name so that this module imports none of them."""


@dataclass(frozen=True, eq=False, repr=False)
class HeteroGraph(Pictured):
    """A schema with data. Frozen; build it with `HeteroGraph.build`, `from_tables`, `from_pyg` or `from_networkx`."""

    _picture = "network"

    schema: Schema
    num_nodes: Mapping[str, int]
    adjacency: Mapping[Relation, sp.csr_matrix]
    """Raw edges on the host: row v of type target lists its source nodes, values are the edge weights."""
    propagation: Mapping[Relation, Propagation]
    features: Mapping[str, Features]
    """Types without an entry have no features: each of their nodes gets a learned vector."""
    ids: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """External ids of the types that have them; others are numbered from 0."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the types whose ids are several columns joined by '/', the names of these columns."""
    notes: tuple[str, ...] = ()
    """Readable notes on what was done to the data when it was read."""
    encoders: Mapping[str, Any] = field(default_factory=dict)
    """Per type read from tables, how its columns became features: plain values, fitted once and saved with a model."""
    engine: Engine = field(default_factory=Engine)
    """How products are computed."""
    timed: frozenset[str] = frozenset()
    """Types whose rows have a time: they have no learned vectors, and what a node hears is averaged by what it sees."""

    @classmethod
    def build(
        cls,
        num_nodes: Mapping[str, int],
        edges: Mapping[E, ArrayLike],
        features: Mapping[str, ArrayLike | sp.spmatrix] | None = None,
        *,
        weights: Mapping[W, ArrayLike] | None = None,
        ids: Mapping[str, ArrayLike] | None = None,
        reverse: bool | Collection[RelationLike] = False,
        timed: Collection[str] = (),
    ) -> HeteroGraph:
        """Build from edge lists, checking everything.

        `edges` maps (source, name, target) to two rows of node numbers: sources and targets. Edges given twice
        count once, or add up where `weights` are given. `reverse` adds `rev_NAME` for each relation (or for these)
        whose reverse is not given (a symmetric relation within one type is its own reverse). `timed` names the types
        whose rows have a time; that all edges go forward in time is the caller's part.
        """
        num_nodes = checked_counts(num_nodes)
        relations = {checked_relation(r): e for r, e in edges.items()}
        given = {checked_relation(r): w for r, w in (weights or {}).items()}
        if not relations:
            raise DiffmgError(f"a network needs one or more relations, but got {len(relations)}")
        schema = Schema(tuple(num_nodes), tuple(relations))
        for relation in given:
            schema.check_relation(relation)
        adjacency = {
            r: _adjacency(
                checked_edges(r, e, num_nodes, may_be_empty=bool(timed)),
                checked_weights(r, given.get(r), e),
                r,
                num_nodes,
            )
            for r, e in relations.items()
        }
        if reverse:
            wanted = adjacency if reverse is True else [schema.check_relation(checked_relation(r)) for r in reverse]
            adjacency |= _reverses(adjacency, wanted)
            schema = Schema(schema.node_types, tuple(adjacency))
        aggregate: Aggregate = "mean" if timed else "paper"
        return cls(
            schema,
            num_nodes,
            adjacency,
            {r: propagation_of(r, a, aggregate) for r, a in adjacency.items()},
            checked_features(features or {}, schema, num_nodes),
            checked_ids(ids or {}, schema, num_nodes),
            timed=_checked_timed(timed, schema, features or {}),
        )

    @classmethod
    def from_pyg(cls, data: HeteroData, *, reverse: bool = False) -> HeteroGraph:
        """A network from PyG's container: `x` gives features, `edge_weight` or a one-column `edge_attr` weights."""
        return _converted("from_pyg", data, reverse=reverse)

    @classmethod
    def from_tables(
        cls,
        nodes: Mapping[str, Any],
        relations: Mapping[tuple[str, str, str], Any],
        *,
        ids: Mapping[str, str | Sequence[str]] | None = None,
        drop: Mapping[str, Sequence[str]] | None = None,
        split: Mapping[tuple[str, str, str], str] | None = None,
        on_unknown: Literal["error", "drop"] = "error",
        reverse: bool = True,
    ) -> HeteroGraph:
        """A network from tables: pandas, polars, Arrow, anything that speaks Arrow, or mappings of columns.

        `nodes` maps a type to its table, or to None to take its nodes from the relations. The id is the first column,
        or the column (or columns) that `ids` names; the others become features by their type, except those in `drop`
        (labels, for example). `relations` maps (source, name, target) to a table whose first columns are the ids of
        source and target; a column called weight holds weights. `split` says what separates several target ids in one
        cell of a relation's table; lists need no separator. `notes` lists what was done.
        """
        options = {"ids": ids, "drop": drop, "split": split, "on_unknown": on_unknown, "reverse": reverse}
        return _converted("from_tables", nodes, relations, **options)

    @classmethod
    def from_triples(
        cls,
        triples: Any,
        types: Any = None,
        *,
        drop: Sequence[str] = (),
        on_unknown: Literal["error", "drop"] = "error",
        reverse: bool = True,
        **columns: str | None,
    ) -> HeteroGraph:
        """A network from triples: rows (head, relation, tail), or a table with these columns; see `from_tables`.

        `types` maps ids to node types, or is a table of nodes: an id, a column called type, and columns that become
        features, except those in `drop` (labels). Without types, and without columns head_type and tail_type in the
        triples, all nodes are of one type, `node`. Each relation name between two types is a relation. `columns` says
        which column is what: head, relation, tail, head_type, tail_type, weight of the triples, id, type of the types.
        """
        options = {"drop": drop, "on_unknown": on_unknown, "reverse": reverse}
        return _converted("from_triples", triples, types, **options, **columns)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        node_type: str = "type",
        edge_type: str = "type",
        *,
        drop: Mapping[str, Sequence[str]] | None = None,
        reverse: bool = False,
    ) -> HeteroGraph:
        """A network from a typed NetworkX graph; see `diffmg.graph.networkx`."""
        return _converted("from_networkx", graph, node_type, edge_type, drop=drop, reverse=reverse)

    def with_features(self, node_type: str, frame: Any, *, id_column: str | None = None) -> HeteroGraph:
        """The same network with the columns of a frame as features of a type, its rows by id and in any order.

        The ids are in `id_column`, or the one called like the type or `id`, or else the first. Every node needs a row.
        """
        return _converted("with_features", self, node_type, frame, id_column)

    def to_pyg(self) -> HeteroData:
        """PyG's container with features, edges, and the weights of relations that have any other than 1."""
        return CONVERTERS.get("to_pyg")(self)

    @property
    def device(self) -> torch.device:
        """Where the products are computed."""
        return next(iter(self.propagation.values())).matrix.forward.device

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> HeteroGraph:
        """The same network with its matrices and features on another device or in another precision."""
        return replace(
            self,
            propagation={r: p.to(device, dtype) for r, p in self.propagation.items()},
            features={t: x.to(device, dtype) for t, x in self.features.items()},
        )

    def aggregated(self, aggregate: Aggregate, *, self_loops: bool) -> HeteroGraph:
        """The same network with messages of neighbours normalised in another way; made once and kept."""
        if self.timed and aggregate == "paper":
            aggregate = "mean"
        if self.timed and aggregate == "symmetric":
            raise DiffmgError(
                f"rows with a time average what they see, but got aggregate={aggregate!r}, which counts what others "
                "will see later; use 'mean' or 'sum'"
            )
        if (aggregate, self_loops) == ("mean" if self.timed else "paper", True):
            return self
        kept = _AGGREGATED.setdefault(self, {})
        if (aggregate, self_loops) not in kept:
            found = {r: propagation_of(r, m, aggregate, self_loops=self_loops) for r, m in self.adjacency.items()}
            like = next(iter(self.propagation.values())).matrix.forward
            kept[aggregate, self_loops] = replace(
                self, propagation={r: p.to(like.device, like.dtype) for r, p in found.items()}
            )
        return kept[aggregate, self_loops]

    def with_relations(self, relations: Sequence[Relation]) -> HeteroGraph:
        """The same network with these of its relations, in this order."""
        for relation in relations:
            self.schema.check_relation(relation)
        return replace(
            self,
            schema=Schema(self.schema.node_types, tuple(relations)),
            adjacency={r: self.adjacency[r] for r in relations},
            propagation={r: self.propagation[r] for r in relations},
        )

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> HeteroGraph:
        """The same network with the nodes of some types in another order: node j was node `orders[type][j]`."""
        if not orders:
            return self
        adjacency = {
            r: _permuted(matrix, orders.get(r.target), orders.get(r.source)) for r, matrix in self.adjacency.items()
        }
        device = self.device
        permuted = replace(
            self,
            adjacency=adjacency,
            propagation={r: propagation_of(r, m, "mean" if self.timed else "paper") for r, m in adjacency.items()},
            features={t: _rows(x, orders.get(t)) for t, x in self.features.items()},
            ids={**self.ids, **{t: self.ids_of(t)[order] for t, order in orders.items()}},
        )
        return permuted if device.type == "cpu" else permuted.to(device)

    def inputs(self, node_type: str) -> int:
        """Columns of a type's features; one per node where it has none (one-hot)."""
        features = self.features.get(node_type)
        return self.num_nodes[node_type] if features is None else features.shape[1]

    def zeros(self, node_type: str, columns: int) -> Tensor:
        """Zeros (n, columns) for the nodes of a type, on the network's device and in its precision."""
        like = next(iter(self.propagation.values())).matrix.forward
        return torch.zeros(self.num_nodes[node_type], columns, device=like.device, dtype=like.dtype)

    def counted(self, node_type: str) -> tuple[Relation, ...]:
        """The relations into a type by column of `log_counts`: each once, then those with weights once more."""
        into = self.schema.into(node_type)
        return *into, *(r for r in into if has_weights(self.adjacency[r]))

    def log_counts(self, node_type: str) -> Tensor:
        """Of every node, log(1 + number of neighbours) for each relation into its type, (n, columns).

        Behind these, for each of them with weights, log(1 + total weight).
        """
        kept = _COUNTS.setdefault(self, {})
        if node_type not in kept:
            into, counted = self.schema.into(node_type), self.counted(node_type)
            numbers = [np.diff(self.adjacency[r].indptr) for r in into]
            totals = [np.asarray(self.adjacency[r].sum(axis=1)).ravel() for r in counted[len(into) :]]
            kept[node_type] = torch.from_numpy(np.log1p(np.stack([*numbers, *totals], axis=1))).float().to(self.device)
        return kept[node_type]

    def edge_index(self, relation: Relation) -> NDArray[np.int64]:
        """Edges of a relation as two rows: source nodes and target nodes, sorted by target."""
        matrix = self.adjacency[self.schema.check_relation(relation)].tocoo()
        return np.stack([matrix.col, matrix.row]).astype(np.int64)

    def has_edges(self, relation: Relation, sources: ArrayLike, targets: ArrayLike) -> NDArray[np.bool_]:
        """For each (source, target), whether the relation links them."""
        matrix = self.adjacency[self.schema.check_relation(relation)]
        present = sp.csr_matrix((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), matrix.shape)
        return np.asarray(present[np.asarray(targets), np.asarray(sources)]).ravel() > 0

    def isolated(self, node_type: str) -> NDArray[np.int64]:
        """Nodes of a type without edges, neither as source nor as target."""
        degree = np.zeros(self.num_nodes[self.schema.check_type(node_type)], np.int64)
        for relation, matrix in self.adjacency.items():
            if relation.target == node_type:
                degree += np.diff(matrix.indptr)
            if relation.source == node_type:
                degree += np.bincount(matrix.indices, minlength=len(degree))
        return np.flatnonzero(degree == 0)

    def index_of(self, node_type: str, ids: ArrayLike) -> NDArray[np.int64]:
        """Node numbers of external ids; unknown ids raise."""
        return rows_of(self, node_type, ids)

    def __repr__(self) -> str:
        lines = [f"HeteroGraph({len(self.num_nodes)} node types, {len(self.adjacency)} relations, {self.device.type}"]
        for node_type, count in list(self.num_nodes.items())[:SHOWN]:
            features = self.features.get(node_type)
            columns = "no features" if features is None else f"{features.shape[1]} features"
            lines.append(f"  {shortened(node_type, 30)}: {count} nodes, {columns}")
        relations = list(self.adjacency.items())
        lines += [f"  {shortened(str(relation), 44)}: {matrix.nnz} edges" for relation, matrix in relations[:SHOWN]]
        hidden = max(0, len(self.num_nodes) - SHOWN) + max(0, len(relations) - SHOWN)
        return "\n".join([*lines, *([f"  ... {hidden} more"] if hidden else [])]) + ")"

    def ids_of(self, node_type: str) -> NDArray[Any]:
        """External ids of all nodes of a type, by node number."""
        self.schema.check_type(node_type)
        return self.ids.get(node_type, np.arange(self.num_nodes[node_type]))


_AGGREGATED: WeakKeyDictionary[HeteroGraph, dict[tuple[Aggregate, bool], HeteroGraph]] = WeakKeyDictionary()
_COUNTS: WeakKeyDictionary[HeteroGraph, dict[str, Tensor]] = WeakKeyDictionary()


def _converted(name: str, *given: Any, **options: Any) -> HeteroGraph:
    made: HeteroGraph = CONVERTERS.get(name)(*given, **options)
    return made


def _adjacency(
    edges: NDArray[np.int64], weights: NDArray[np.float64] | None, relation: Relation, num_nodes: Mapping[str, int]
) -> sp.csr_matrix:
    values = np.ones(edges.shape[1]) if weights is None else weights
    shape = (num_nodes[relation.target], num_nodes[relation.source])
    matrix = sp.coo_matrix((values, (edges[1], edges[0])), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.sort_indices()
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


def _checked_timed(timed: Collection[str], schema: Schema, features: Mapping[str, Any]) -> frozenset[str]:
    """Rows with a time come and go, so they need features."""
    for node_type in timed:
        if schema.check_type(node_type) not in features:
            raise DiffmgError(f"rows with a time need features, but got none for {node_type!r}; give a constant one")
    return frozenset(timed)


def _permuted(
    matrix: sp.csr_matrix, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None
) -> sp.csr_matrix:
    matrix = matrix if rows is None else matrix[rows]
    matrix = sp.csr_matrix(matrix if columns is None else matrix[:, columns])
    matrix.sort_indices()
    return matrix


def _rows(features: Features, order: NDArray[np.int64] | None) -> Features:
    if order is None:
        return features
    if isinstance(features, FixedMatrix):
        return FixedMatrix.from_scipy(features.to_scipy()[order])
    return features.cpu()[torch.from_numpy(order)]


def _reverses(adjacency: Mapping[Relation, sp.csr_matrix], wanted: Iterable[Relation]) -> dict[Relation, sp.csr_matrix]:
    added: dict[Relation, sp.csr_matrix] = {}
    alike: dict[tuple[str, str, int], list[sp.csr_matrix]] = {}
    for r, matrix in adjacency.items():
        alike.setdefault((r.source, r.target, int(np.count_nonzero(matrix.data))), []).append(matrix)
    for relation in wanted:
        flipped = adjacency[relation].T.tocsr()
        partners = alike.get((relation.target, relation.source, int(np.count_nonzero(flipped.data))), ())
        if not any(equal(flipped, partner) for partner in partners):
            reverse = Relation(relation.target, f"rev_{relation.name}", relation.source)
            if reverse in adjacency:
                raise DiffmgError(
                    f"the reverse of '{relation}' needs the name of another relation: got '{reverse}' already"
                )
            added[reverse] = flipped
    return added
