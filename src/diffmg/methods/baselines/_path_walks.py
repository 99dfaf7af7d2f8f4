"""Random walks, neighbours and instances of meta paths, computed once on the CPU.

All go against the direction of messages, from the receiving node to the sender; for symmetric paths the direction makes
no difference.
"""

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core import DiffmgError, MetaPath
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._paths import pattern, spelled

Ints = NDArray[np.int64]
ROWS = 256
"""Rows of a product computed at a time."""
MOST_INSTANCES = 2**62
"""Instances are numbered with 64-bit integers."""


def chain(graph: HeteroGraph, path: MetaPath) -> list[sp.csr_matrix]:
    """The adjacency of each step of a walk from a receiving node: row = current node, column = next node."""
    return [pattern(graph, relation) for relation in reversed(path)]


def walk(matrices: Sequence[sp.csr_matrix], starts: Ints, steps: int, rng: np.random.Generator) -> Ints:
    """Random walks, (walks, steps + 1), that cycle through the matrices, one edge of each; -1 after a dead end.

    Each step is uniform over the outgoing edges.
    """
    nodes = [starts]
    for matrix in islice(cycle(matrices), steps):
        nodes.append(_step(matrix, nodes[-1], rng))
    return np.stack(nodes, axis=1)


def _step(matrix: sp.csr_matrix, nodes: Ints, rng: np.random.Generator) -> Ints:
    degree = np.where(nodes >= 0, np.diff(matrix.indptr)[nodes], 0)
    position = matrix.indptr[nodes].astype(np.int64) + (rng.random(len(nodes)) * degree).astype(np.int64)
    reached, alive = np.full(len(nodes), -1, np.int64), degree > 0
    reached[alive] = matrix.indices[position[alive]]
    return reached


def neighbours(
    graph: HeteroGraph, path: MetaPath, most_pairs: int, sampled: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Neighbours of each node along the path, and the node itself, as sorted pairs (node, neighbour).

    All of them if there are at most `most_pairs` (self-loops not counted), else the ends of `sampled` walks per node.
    """
    matrices = chain(graph, path)
    count = matrices[0].shape[0]
    linked = product(matrices, most_pairs)
    if linked is None:
        rows = np.arange(count).repeat(sampled)
        columns = walk(matrices, rows, len(matrices), rng)[:, -1]
        rows, columns = rows[columns >= 0], columns[columns >= 0]
        linked = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (count, count))
    linked = sp.csr_matrix(linked + sp.identity(count, dtype=np.float32, format="csr"))
    linked.sort_indices()
    rows, columns = linked.nonzero()
    return rows.astype(np.int64), columns.astype(np.int64)


def product(matrices: Sequence[sp.csr_matrix], most: int) -> sp.csr_matrix | None:
    """Pairs linked by a chain of edges, or None if there are more than `most`; stops early to bound memory."""
    blocks, entries = [], 0
    for start in range(0, matrices[0].shape[0], ROWS):
        block = matrices[0][start : start + ROWS]
        for matrix in matrices[1:]:
            block = block @ matrix
            block.data[:] = 1
        blocks.append(block)
        entries += block.nnz
        if entries > most:
            return None
    return sp.csr_matrix(sp.vstack(blocks))


def instances(graph: HeteroGraph, path: MetaPath, sampled: int, rng: np.random.Generator) -> Ints:
    """Path instances as rows of nodes in message order, (instances, relations + 1), sorted by receiving node.

    Nodes with at most `sampled` instances keep them all; for others, `sampled` instances are drawn uniformly with
    replacement and duplicates removed.
    """
    matrices = chain(graph, path)
    counts = _completions(path, matrices)
    own, few = np.arange(len(counts[0])), np.where(counts[0] <= sampled, counts[0], 0)
    ends = np.cumsum(few)
    ranks = np.arange(ends[-1]) - (ends - few).repeat(few)
    drawn = own[counts[0] > sampled].repeat(sampled)
    draws = rng.integers(0, counts[0][drawn])
    pairs = np.stack([np.r_[own.repeat(few), drawn], np.r_[ranks, draws]])
    starts, ranks = np.unique(pairs, axis=1)
    return _unranked(matrices, counts, starts, ranks)[:, ::-1].copy()


def _completions(path: MetaPath, matrices: Sequence[sp.csr_matrix]) -> list[Ints]:
    """For each position in the path, the number of ways to complete it from every node."""
    rough = np.ones(matrices[-1].shape[1])
    counts = [np.ones(matrices[-1].shape[1], np.int64)]
    for matrix in reversed(matrices):
        rough = matrix.astype(np.float64) @ rough
        if rough.sum() >= MOST_INSTANCES:
            raise DiffmgError(
                f"a meta path must have fewer than 2^62 instances, but got {rough.sum():.0e} of {spelled(path)!r}; "
                "give a shorter one in `paths`"
            )
        counts.append(matrix.astype(np.int64) @ counts[-1])
    return counts[::-1]


def _unranked(matrices: Sequence[sp.csr_matrix], counts: Sequence[Ints], starts: Ints, ranks: Ints) -> Ints:
    """The instances with these ranks among all instances of their start node, in edge order."""
    nodes = [starts]
    for matrix, after in zip(matrices, counts[1:], strict=True):
        passed = np.r_[0, np.cumsum(after[matrix.indices])]
        ranks = ranks + passed[matrix.indptr[nodes[-1]]]
        position = np.searchsorted(passed[1:], ranks, side="right")
        ranks = ranks - passed[position]
        nodes.append(matrix.indices[position].astype(np.int64))
    return np.stack(nodes, axis=1)
