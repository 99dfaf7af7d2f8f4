"""Small random networks and meta graphs for property tests."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph, Operation, links_of
from diffmg.core.schema import Relation, Schema
from diffmg.graph.network import HeteroGraph


@dataclass(frozen=True)
class World:
    """Raw data of a network: a graph is built from it, and the dense oracle reads it."""

    num_nodes: dict[str, int]
    edges: dict[Relation, np.ndarray]
    weights: dict[Relation, np.ndarray] = field(default_factory=dict)
    features: dict[str, np.ndarray | sp.csr_matrix] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return Schema(tuple(self.num_nodes), tuple(self.edges))

    def graph(self) -> HeteroGraph:
        return HeteroGraph.build(self.num_nodes, self.edges, self.features, weights=self.weights)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """1 to 4 types, 1 to 6 relations: within a type, between types, several between the same pair."""
    types = "abcd"[: draw(st.integers(1, 4))]
    end = st.sampled_from(types)
    triple = st.tuples(end, st.sampled_from("rst"), end)
    triples = draw(st.lists(triple, min_size=1, max_size=6, unique=True))
    return Schema(tuple(types), tuple(Relation(*t) for t in triples))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A network of 1 to 4 nodes a type: isolated nodes, edges given twice, weights or none, features of any kind."""
    schema = draw(schemas())
    num_nodes = {t: draw(st.integers(1, 4)) for t in schema.node_types}
    edges, weights = {}, {}
    for relation in schema.relations:
        edges[relation], weight = draw(_edges(relation, num_nodes))
        if weight is not None:
            weights[relation] = weight
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    features = {t: draw(_features(rng, n)) for t, n in num_nodes.items()}
    return World(num_nodes, edges, weights, {t: x for t, x in features.items() if x is not None})


@st.composite
def _edges(draw: st.DrawFn, relation: Relation, num_nodes: dict[str, int]) -> tuple[np.ndarray, np.ndarray | None]:
    edge = st.tuples(
        st.integers(0, num_nodes[relation.source] - 1),
        st.integers(0, num_nodes[relation.target] - 1),
        st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]),
    )
    rows = np.array(draw(st.lists(edge, min_size=1, max_size=8)))
    pairs, weight = rows[:, :2].astype(np.int64).T, rows[:, 2]
    if relation.source == relation.target and draw(st.booleans()):
        pairs, weight = np.concatenate([pairs, pairs[::-1]], axis=1), np.concatenate([weight, weight])
    return pairs, weight if draw(st.booleans()) else None


@st.composite
def _features(draw: st.DrawFn, rng: np.random.Generator, rows: int) -> np.ndarray | sp.csr_matrix | None:
    kind = draw(st.sampled_from(["dense", "sparse", "none"]))
    if kind == "none":
        return None
    x = rng.standard_normal((rows, draw(st.integers(1, 3)))).astype(np.float32)
    return x if kind == "dense" else sp.csr_matrix(x * (rng.random(x.shape) < 0.7))


@st.composite
def metagraphs(
    draw: st.DrawFn, schema: Schema, max_depth: int = 4, max_operations: int = 3, min_depth: int = 1
) -> MetaGraph:
    """Any meta graph the schema can carry, in the search space or not; every link may be empty."""
    choices: list[Operation] = [*schema.relations, IDENTITY, EMPTY]
    operations = st.lists(st.sampled_from(choices), min_size=1, max_size=max_operations, unique=True)
    links = links_of(draw(st.integers(min_depth, max_depth)))
    return MetaGraph(draw(st.sampled_from(schema.node_types)), tuple(tuple(draw(operations)) for _ in links))
