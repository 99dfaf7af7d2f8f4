from __future__ import annotations

from diffmg.core.space import SearchSpace
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks.problem import Problem

DEPTH = 3


def drawn(problem: Problem, quick, seed: int):
    return RandomMetaGraph(depth=DEPTH).search(problem, quick, seed).found()


def test_draws_from_the_papers_space(problem, quick):
    for target, metagraph in zip(problem.task.target_types, drawn(problem, quick, 0), strict=True):
        assert SearchSpace.dag(problem.graph.schema, target, DEPTH).contains(metagraph)
        assert all(len(operations) == 1 for operations in metagraph.operations)


def test_other_seeds_draw_others(problem, quick):
    assert len({drawn(problem, quick, seed) for seed in range(10)}) == 10


def test_has_its_answer_at_once(problem, quick):
    assert RandomMetaGraph(depth=DEPTH).search(problem, quick, 0).done
