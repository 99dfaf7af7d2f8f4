"""A network as one table: for each node of a type, its features and summaries of its neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.methods.baselines._moves import Move, moves_into
from diffmg.methods.baselines._reach import mean_over_neighbours
from diffmg.methods.baselines._svd import Floats, truncated_svd

MOST_PATHS = 100
"""Maximum number of paths, shortest first."""
FOLDS = 5


@dataclass(frozen=True)
class KnownLabels:
    """Labels of training nodes in folds: a training node is told labels of other folds only, never its own."""

    nodes: NDArray[np.int64]
    marks: NDArray[np.float64]
    """(training nodes, C)."""
    folds: NDArray[np.int64]
    """The fold of each training node, 0 to FOLDS - 1."""

    @classmethod
    def draw(cls, nodes: NDArray[np.int64], marks: NDArray[np.float64], rng: np.random.Generator) -> "KnownLabels":
        """With folds of equal size, drawn at random."""
        return cls(nodes, marks, rng.permutation(len(nodes)) % FOLDS)

    def means(self, path: Sequence[Move], rows: int) -> Floats:
        """Mean label at the other end of a path from the type to itself, (rows, C); NaN where no label is there."""
        width = self.marks.shape[1] + 1
        told = np.zeros((rows, FOLDS + 1, width))
        marks = np.pad(self.marks, ((0, 0), (0, 1)), constant_values=1.0)
        for fold in range(FOLDS + 1):
            others = self.folds != fold
            told[self.nodes[others], fold] = marks[others]
        arrived = _averaged(path, told.reshape(rows, -1)).reshape(told.shape)
        fold_of = np.full(rows, FOLDS)
        fold_of[self.nodes] = self.folds
        sums = arrived[np.arange(rows), fold_of]
        return np.where(sums[:, -1:] > 0, sums[:, :-1] / np.where(sums[:, -1:] > 0, sums[:, -1:], 1), np.nan)


def projections(graph: HeteroGraph, columns: int, rng: np.random.Generator) -> dict[str, Floats]:
    """For each type with more features than `columns`, a projection to that many by truncated SVD.

    None where rows have a time: a projection would know later ones.
    """
    if graph.timed:
        return {}
    wide = [t for t, x in graph.features.items() if x.shape[1] > columns]
    return {t: truncated_svd(_features(graph, t), columns, rng)[2] for t in wide}


def flattened(
    graph: HeteroGraph, target: str, hops: int, projected: Mapping[str, Floats], labels: KnownLabels | None = None
) -> dict[str, Floats]:
    """Blocks of columns by name, each (nodes of the target type, columns).

    Own features; for every path of 1 to `hops` relations, the logarithm of the number of walks along it (and of their
    total weight, where edges have weights), the mean of the features at its other end, and the mean of known labels
    there where it leads back to the target type. Means are weighted, and NaN where there is nothing to average.
    """
    compact = {t: _compact(graph, t, projected.get(t)) for t in graph.features}
    rows = graph.num_nodes[target]
    blocks = {"features": compact[target]} if target in compact else {}
    for path in paths_into(graph, target, hops):
        name, end = " <- ".join(move.name for move in path), path[-1].source
        ones = np.ones((graph.num_nodes[end], 1))
        walks = _summed([move.links for move in path], ones)
        blocks[f"count of {name}"] = np.log1p(walks)
        if any(move.weighted for move in path):
            blocks[f"weight of {name}"] = np.log1p(_summed([move.weights for move in path], ones))
        if end in compact:
            blocks[f"mean of {name}"] = np.where(walks > 0, _averaged(path, compact[end]), np.nan)
        if end == target and labels is not None:
            blocks[f"labels of {name}"] = labels.means(path, rows)
    return blocks


def paths_into(graph: HeteroGraph, target: str, hops: int) -> list[tuple[Move, ...]]:
    """All paths of 1 to `hops` relations, the one into the target first; shorter paths come first."""
    moves = moves_into(graph)
    found: list[tuple[Move, ...]] = []
    last: list[tuple[Move, ...]] = [(move,) for move in moves[target]]
    for _ in range(hops):
        found += last
        if len(found) >= MOST_PATHS:
            break
        last = list(chain.from_iterable(((*path, move) for move in moves[path[-1].source]) for path in last))
    return found[:MOST_PATHS]


def _averaged(path: Sequence[Move], x: Floats) -> Floats:
    """Means over neighbours, step by step; products of relations are never formed."""
    for move in reversed(path):
        x = mean_over_neighbours(move.weights) @ x
    return x


def _summed(steps: Sequence[sp.csr_matrix], x: Floats) -> Floats:
    for step in reversed(steps):
        x = step @ x
    return x


def _features(graph: HeteroGraph, node_type: str) -> sp.csr_matrix | Floats:
    x = graph.features[node_type]
    return (x.to_scipy() if isinstance(x, FixedMatrix) else x.numpy(force=True)).astype(np.float64)


def _compact(graph: HeteroGraph, node_type: str, projection: Floats | None) -> Floats:
    x = _features(graph, node_type)
    return np.asarray(x @ (np.eye(x.shape[1]) if projection is None else projection))
