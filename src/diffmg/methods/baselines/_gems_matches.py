"""Which user and item a meta structure joins: both are ends of an instance in which every edge is present."""

import numpy as np
import scipy.sparse as sp

from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._gems_structure import Structure
from diffmg.methods.baselines._paths import pattern

ROWS = 1024
"""Rows of a product computed at a time."""


def matches(graph: HeteroGraph, structure: Structure, most: int) -> sp.csr_matrix | None:
    """Ones (users, items) where the structure has an instance; None if it is not series-parallel.

    Instances are counted by products along slots that have one edge in and one out, and by entrywise products of
    parallel edges. Where a product has no parallel edge, each of its rows keeps its `most` largest counts.
    """
    links = {(e.i, e.k): pattern(graph, e.relation) for e in structure.edges}
    inner = list(range(1, len(structure.slots) - 1))
    while inner:
        ends = {s: ([i for i, k in links if k == s], [k for i, k in links if i == s]) for s in inner}
        slot = next((s for s in inner if len(ends[s][0]) == len(ends[s][1]) == 1), None)
        if slot is None:
            return None
        inner.remove(slot)
        (i,), (k,) = ends[slot]
        links[i, k] = limited_product(links.pop((slot, k)), links.pop((i, slot)), most, links.get((i, k)))
    (found,) = links.values()
    return sp.csr_matrix(found.sign())


def limited_product(
    left: sp.csr_matrix, right: sp.csr_matrix, most: int, parallel: sp.csr_matrix | None = None
) -> sp.csr_matrix:
    """`left @ right` in blocks of rows: times `parallel` entry by entry, or the `most` largest entries of each row."""
    blocks = []
    for start in range(0, left.shape[0], ROWS):
        rows = slice(start, start + ROWS)
        product = (left[rows] @ right).tocsr()
        blocks.append(_largest(product, most) if parallel is None else product.multiply(parallel[rows]))
    return sp.csr_matrix(sp.vstack(blocks, format="csr"))


def _largest(matrix: sp.csr_matrix, most: int) -> sp.csr_matrix:
    for row in np.flatnonzero(np.diff(matrix.indptr) > most):
        entries = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
        entries[np.argpartition(entries, -most)[:-most]] = 0
    matrix.eliminate_zeros()
    return matrix
