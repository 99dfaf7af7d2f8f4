from __future__ import annotations

import pytest

from diffmg.datasets.shop import Shop
from diffmg.errors import DiffmgError
from diffmg.graph import HeteroGraph
from diffmg.metagraph import IDENTITY, MetaGraph
from diffmg.schema import Relation
from diffmg.task import NodeClassification, Recommendation
from diffmg.train import Problem

BUYS = ("user", "buys", "item")


def test_a_task_that_does_not_fit_is_refused(classification):
    task = NodeClassification.build("author", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    with pytest.raises(DiffmgError, match=r"one label .* per 'author' node"):
        Problem(classification.graph, task)


def test_a_leak_is_refused():
    graph = HeteroGraph.build({"user": 2, "item": 3}, {BUYS: [[0], [1]]})
    pairs = {"train": [[0, 1]], "val": [[1, 1]]}, {"train": [[0, 2]], "val": [[1, 2]]}
    with pytest.raises(DiffmgError, match="its answer leaks"):
        Problem(graph, Recommendation.build("user", "item", (2, 3), *pairs))


def test_the_same_device_is_no_move(classification):
    assert classification.to("cpu") is classification


def test_meta_graphs_are_arranged_by_target(recommendation):
    assert recommendation.arranged(Shop.planted[::-1]) == Shop.planted


@pytest.mark.parametrize("metagraphs", [(), Shop.planted[:1], (Shop.planted[0],) * 2, (*Shop.planted, Shop.planted[0])])
def test_one_meta_graph_for_each_target(recommendation, metagraphs):
    with pytest.raises(DiffmgError, match=r"one meta graph for each of \['user', 'item'\], but got \["):
        recommendation.arranged(metagraphs)


def test_meta_graphs_must_fit_the_network(recommendation):
    stranger = MetaGraph("user", ((Relation("item", "sold_to", "user"), IDENTITY),))
    with pytest.raises(DiffmgError, match="unknown relation 'item -sold_to-> user'"):
        recommendation.arranged((stranger, Shop.planted[1]))
