"""Small networks with everything the kernels must cope with, and meta graphs on them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from worlds import World

AB, AB2, BA = Relation("a", "ab", "b"), Relation("a", "ab2", "b"), Relation("b", "ba", "a")
CB, AC = Relation("c", "cb", "b"), Relation("a", "ac", "c")
AA, BB = Relation("a", "aa", "a"), Relation("b", "bb", "b")
NODES = {"a": 10, "b": 7, "c": 4}


def small_world(seed: int = 0) -> World:
    """Types a, b, c; the last node of each is isolated.

    Two relations from a to b, one of them with weights; `aa` is directed and has weights, `bb` is symmetric; b0 has a
    neighbour in every other node of a, and a0 is the neighbour of every other node of b. Features of a are dense,
    those of c sparse; b has none.
    """
    rng = np.random.default_rng(seed)

    def some(relation: Relation, count: int) -> np.ndarray:
        ends = (rng.integers(0, NODES[t] - 1, count) for t in (relation.source, relation.target))
        return np.unique(np.stack(list(ends)), axis=1)

    star = np.array([[n, 0] for n in range(9)] + [[0, n] for n in range(1, 6)]).T
    half = some(BB, 6)
    edges = {
        AB: star,
        BA: some(BA, 12),
        AB2: some(AB2, 9),
        BB: np.concatenate([half, half[::-1]], axis=1),
        AA: some(AA, 12),
        CB: some(CB, 5),
        AC: some(AC, 6),
    }
    weights = {r: rng.uniform(0.2, 2.0, edges[r].shape[1]) for r in (AB2, AA)}
    dense, sparse = (rng.standard_normal((NODES[t], 4)).astype(np.float32) for t in "ac")
    return World(NODES, edges, weights, {"a": dense, "c": sp.csr_matrix(sparse * (sparse > 0))})


def small_classification() -> Problem:
    """Nodes of b have one of two labels."""
    task = NodeClassification.build("b", [0, 1, 0, 1, 1, 0, 1], train=[0, 1, 2], val=[3, 4, 5], test=[6])
    return Problem(small_world().graph(), task)


def small_unbalanced() -> Problem:
    """As `small_classification`, with a metric of an order and weights of classes."""
    labels, parts = [0, 1, 0, 1, 0, 0, 1], {"train": [0, 1, 2], "val": [3, 4, 5], "test": []}
    task = NodeClassification.build("b", labels, **parts, metric="average_precision", class_weight="balanced")
    return Problem(small_world().graph(), task)


def small_recommendation() -> Problem:
    """Nodes of c for nodes of a."""
    positives = {"train": [[0, 0], [1, 2], [4, 1]], "val": [[2, 1], [5, 3]]}
    negatives = {"train": [[0, 1], [3, 3]], "val": [[2, 0], [6, 2], [7, 1]]}
    task = Recommendation.build("a", "c", (NODES["a"], NODES["c"]), positives, negatives, exempt=("ac",))
    return Problem(small_world().graph(), task)


METAGRAPHS = {
    "one link": (MetaGraph("b", ((AB,),)),),
    "a path": (MetaGraph("b", ((BA,), (EMPTY,), (AB,))),),
    "a relation that leads elsewhere": (MetaGraph("c", ((AB,), (BA,), (IDENTITY,))),),
    "within one type": (MetaGraph("a", ((AA,), (BB,), (BA, AA))),),
    "several operations a link": (
        MetaGraph("b", ((BA, IDENTITY), (CB,), (AB, AB2, BB), (EMPTY,), (IDENTITY, AB), (CB, AB))),
    ),
    "only the pass": (MetaGraph("b", ((EMPTY,), (IDENTITY,), (EMPTY,))),),
    "a state that nothing reaches": (MetaGraph("b", ((EMPTY,), (IDENTITY,), (AB,))),),
    "nothing at all": (MetaGraph("b", ((EMPTY,), (EMPTY,), (EMPTY,))),),
    "two towers": (MetaGraph("a", ((AB,), (IDENTITY,), (BA,))), MetaGraph("c", ((AA,), (EMPTY,), (AC,)))),
    "towers with different numbers of operations": (
        MetaGraph("b", ((BA, AA, IDENTITY), (EMPTY,), (AB, BB))),
        MetaGraph("a", ((AB,), (AA, IDENTITY), (BA,))),
    ),
    "one tower with nothing": (MetaGraph("b", ((AA,), (EMPTY,), (AB,))), MetaGraph("c", ((AC,), (EMPTY,), (EMPTY,)))),
}
"""By name, the meta graphs of one or two towers, of one depth."""
