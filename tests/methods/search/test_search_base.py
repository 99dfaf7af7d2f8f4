"""What has no meaning for a task is refused: switches of the settings, a space without relations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Schema
from diffmg.methods.auto import Auto
from diffmg.methods.search.everything import Everything
from diffmg.methods.search.features import FeaturesOnly
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks.problem import Problem

WRONG = {"classification": ["biases", "shared_tables"], "recommendation": ["label_inputs"]}
RIGHT = {"classification": ["label_inputs"], "recommendation": ["biases", "shared_tables"]}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(task, switch) for task, switches in table.items() for switch in switches]


@pytest.mark.parametrize(("task", "switch"), cases(WRONG))
@pytest.mark.parametrize("method", [FeaturesOnly(), RandomMetaGraph()], ids=["features", "random"])
def test_a_switch_without_a_meaning_is_refused(request, quick, method, task, switch):
    problem = request.getfixturevalue(task)
    method.check(problem, quick)
    with pytest.raises(DiffmgError, match=f"`{switch}` is for .*, but got a task that is not: "):
        method.check(problem, replace(quick, **{switch: True}))


@pytest.mark.parametrize("method", [Auto(), RandomMetaGraph(), Everything()], ids=["auto", "random", "everything"])
def test_a_target_that_no_relation_leads_to_is_refused_before_anything_begins(classification, quick, method):
    graph, target = classification.graph, classification.task.target_types[0]
    schema = Schema(graph.schema.node_types, tuple(r for r in graph.schema.relations if r.target != target))
    lonely = Problem(replace(graph, schema=schema), classification.task)
    FeaturesOnly().check(lonely, quick)
    with pytest.raises(DiffmgError, match="must have a relation that leads to it, but got"):
        method.check(lonely, quick)


@pytest.mark.parametrize(("task", "switch"), cases(RIGHT))
def test_a_switch_with_a_meaning_trains(request, quick, task, switch):
    problem, settings = request.getfixturevalue(task), replace(quick, **{switch: True})
    method = RandomMetaGraph(depth=2)
    method.check(problem, settings)
    network = method.network(problem, settings, 0, method.search(problem, settings, 0).found())
    assert problem.task.loss(network(problem.graph), "train").isfinite()
