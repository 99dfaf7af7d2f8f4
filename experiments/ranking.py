"""The paper's recommendation networks split anew for ranking."""

from __future__ import annotations

import numpy as np

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.tasks.problem import Problem
from diffmg.tasks.ranked_network import rank_along
from diffmg.tasks.recommendation import Recommendation


def ranking_of(problem: Problem, seed: int = 0) -> Problem:
    """The same network with a ranking on it.

    What was liked (observed edges and the positive pairs of all parts) is split anew, 80 / 10 / 10 for each user;
    the training part takes the place of the observed edges.
    """
    task = problem.task
    if not isinstance(task, Recommendation):
        raise DiffmgError(f"a recommendation can be split anew for ranking, but got {task.kind}")
    found = []
    for labelled in task.parts.values():
        rows = np.stack([labelled.pairs.left.numpy(force=True), labelled.pairs.right.numpy(force=True)], axis=1)
        found.append(rows[labelled.labels.numpy(force=True) > 0].astype(np.int64))
    return rank_along(problem.graph, _observed(problem, task), more=np.concatenate(found), seed=seed)


def _observed(problem: Problem, task: Recommendation) -> Relation:
    """The relation from users to items whose edges are the observed pairs."""
    seen = task.seen.astype(bool)
    for relation in problem.graph.schema.relations:
        edges = problem.graph.adjacency[relation].T.astype(bool)
        if (relation.source, relation.target) == task.target_types and (edges != seen).nnz == 0:
            return relation
    raise DiffmgError(f"one relation must hold what was observed, but got none of {problem.graph.schema.relations}")
