"""Observed user-item interactions in the network."""

import numpy as np
import scipy.sparse as sp

from diffmg.core import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.problem import Problem


def observed_choices(problem: Problem) -> sp.csr_matrix:
    """Ones (users, items) where any relation between the two types links them, in either direction.

    A task rejects networks that contain a supervised pair, so no label leaks in here.
    """
    user, item = problem.task.target_types
    return choices_between(problem.graph, user, item)


def choices_between(graph: HeteroGraph, user: str, item: str) -> sp.csr_matrix:
    """Ones (users, items) where any relation between the two types links them, in either direction."""
    found = sp.csr_matrix((graph.num_nodes[user], graph.num_nodes[item]))
    between = [r for r in graph.schema.relations if {r.source, r.target} == {user, item}]
    if not between:
        raise DiffmgError(
            f"observed choices need a relation between {user!r} and {item!r}, "
            f"but got only {[str(r) for r in graph.schema.relations]}; take a method that does not read them"
        )
    for relation in between:
        matrix = graph.adjacency[relation]
        ones = sp.csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
        found = found + (ones if relation.target == user else ones.T)
    found = found.tocsr()
    found.data[:] = 1.0
    return found
