from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import IDENTITY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.datasets.academic import Academic
from diffmg.datasets.shop import Shop
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from resuming import run

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


def test_other_switches_of_the_engine(classification):
    engine = Engine(columns=3)
    changed = classification.to("cpu", engine)
    assert changed.graph.engine == engine
    assert classification.graph.engine == Engine()
    assert changed.task is classification.task
    assert changed.graph.propagation is classification.graph.propagation
    assert changed.to("cpu").graph.engine == engine
    assert changed.to("cpu", engine) is changed


def test_the_same_switches_are_no_change(classification):
    assert classification.to("cpu", Engine()) is classification


@pytest.mark.parametrize("engine", [Engine(columns=3), Engine(storage="bfloat16"), Engine(fused=False, capture=False)])
def test_an_engine_changes_a_training_by_rounding_alone(problem, quick, engine):
    metagraphs = Academic.planted if len(problem.task.target_types) == 1 else Shop.planted
    jobs = [Training(p, metagraphs, quick, 0) for p in (problem, problem.to("cpu", engine))]
    plain, other = (torch.tensor([r.train_loss for r in run(job)]) for job in jobs)
    torch.testing.assert_close(other, plain, rtol=2e-2, atol=0)
    if engine.storage == "bfloat16":
        assert not torch.equal(other, plain)
    else:
        torch.testing.assert_close(other, plain, rtol=1e-5, atol=0)


def test_meta_graphs_are_arranged_by_target(recommendation):
    assert recommendation.arranged(Shop.planted[::-1]) == Shop.planted


@pytest.mark.parametrize("metagraphs", [(), Shop.planted[:1], (Shop.planted[0],) * 2, (*Shop.planted, Shop.planted[0])])
def test_one_meta_graph_for_each_target(recommendation, metagraphs):
    with pytest.raises(DiffmgError, match=r"one meta graph for each of \['user',"):
        recommendation.arranged(metagraphs)


def test_meta_graphs_must_fit_the_network(recommendation):
    stranger = MetaGraph("user", ((Relation("item", "sold_to", "user"), IDENTITY),))
    with pytest.raises(DiffmgError, match="unknown relation 'item -sold_to-> user'"):
        recommendation.arranged((stranger, Shop.planted[1]))


def test_a_permuted_problem_trains_to_the_same_scores(problem, quick):
    rng = np.random.default_rng(0)
    orders = {t: rng.permutation(n) for t, n in problem.graph.num_nodes.items()}
    metagraphs = Academic.planted if len(problem.task.target_types) == 1 else Shop.planted
    there = problem.permuted(orders)
    jobs = [Training(p, metagraphs, replace(quick, dropout=0.0), 0) for p in (problem, there)]
    plain, other = (torch.tensor([r.train_loss for r in run(job)]) for job in jobs)
    torch.testing.assert_close(other, plain, rtol=1e-3, atol=0)
    assert problem.permuted({}) is problem


def test_the_text_of_a_problem_is_short(problem):
    text = repr(problem)
    assert len(text.splitlines()) <= 15
    assert all(t in text for t in (problem.task.kind, *problem.task.target_types))
