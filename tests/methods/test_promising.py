from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from diffmg.core import IDENTITY, MetaGraph, compile_program
from diffmg.datasets import load_dataset
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY
from diffmg.datasets.shop import BOUGHT_BY, MAKES
from diffmg.methods._promising import brought, metagraph_of, metagraphs_of, promising_routes
from diffmg.tasks import NodeRegression, Problem


def paths_of(problem, depth):
    """To the first target."""
    return [route[0] for route in promising_routes(problem, depth)]


def test_the_planted_path_comes_first():
    assert promising_routes(load_dataset("academic:1500"), 3)[0] == ((PUBLISHES, WRITTEN_BY),)


def test_the_planted_paths_to_both_ends_come_first():
    assert promising_routes(load_dataset("shop:1500"), 3)[0] == ((MAKES, BOUGHT_BY), (MAKES,))


def test_every_path_leads_to_its_target_and_is_as_short_as_asked(problem):
    routes, targets = promising_routes(problem, 2), problem.task.target_types
    assert len(set(routes)) == len(routes) > 4
    for route in routes:
        assert any(route)
        for path, target in zip(route, targets, strict=True):
            assert len(path) <= 2
            assert not path or path[-1].target == target
            assert all(a.target == b.source for a, b in pairwise(path))


def test_both_ends_of_a_pair_hear_from_one_type(recommendation):
    targets = recommendation.task.target_types
    for route in promising_routes(recommendation, 2):
        sources = {path[0].source if path else target for path, target in zip(route, targets, strict=True)}
        assert len(sources) == 1


def test_a_path_brings_averages(classification):
    """Multiplied step by step, dense."""
    graph = classification.graph
    path = next(p for p in paths_of(classification, 2) if len(p) == 2)
    start = graph.zeros(path[0].source, 3) + 1.0
    dense = [graph.propagation[r].matrix.forward.to_dense().numpy() for r in path]
    np.testing.assert_allclose(brought(graph, path, start).numpy(), dense[1] @ dense[0] @ start.numpy(), atol=1e-6)


def test_test_labels_play_no_part(problem):
    changed = replace(problem, task=problem.task.with_other_test_labels())
    assert promising_routes(changed, 3) == promising_routes(problem, 3)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_meta_graph_holds_its_paths_and_the_own_features(classification, count):
    paths = paths_of(classification, 3)[:count]
    metagraph = metagraph_of(paths, "author", most=9)
    assert set(paths) <= metagraph.paths()
    assert IDENTITY in metagraph[metagraph.depth, 0]
    assert compile_program(metagraph).steps


def test_a_target_that_no_path_leads_to_keeps_its_own_features():
    user, item = metagraphs_of([((MAKES, BOUGHT_BY), ()), ((BOUGHT_BY,), ())], ("user", "item"), most=3)
    assert {(MAKES, BOUGHT_BY), (BOUGHT_BY,)} <= user.paths()
    assert item == MetaGraph.features_only("item")


def test_no_link_has_more_operations_than_asked(classification):
    metagraph = metagraph_of(paths_of(classification, 2), "author", most=2)
    assert max(len(operations) for _, operations in metagraph.items()) == 2


def test_the_planted_path_tells_numbers_too():
    made = load_dataset("academic:1500")
    task = NodeRegression.build("author", 1000.0 * made.task.labels.numpy() ** 2, **made.task.parts)
    assert paths_of(Problem(made.graph, task), 3)[0] == (PUBLISHES, WRITTEN_BY)
