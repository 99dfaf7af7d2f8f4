"""The shared map behind the propagation gives what the map before it gives."""

from __future__ import annotations

import pytest
import torch

from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.nn.late_map import LateMap
from diffmg.nn.propagation import evaluate
from diffmg.training.training import build_model
from small_networks import METAGRAPHS, small_classification, small_recommendation

TWO = METAGRAPHS["two towers"]
SWITCHES = {
    "paper": {},
    "shared tables": {"shared_tables": True},
    "averaged links": {"links": "mean"},
    "sums": {"aggregate": "sum", "self_loops": False},
}


def outputs_and_gradients(model, problem):
    outputs = model(problem.graph)
    gradients = torch.autograd.grad(sum((z**3).sum() for z in outputs), list(model.parameters()), allow_unused=True)
    return [*outputs, *(g for g in gradients if g is not None)]


@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES)
def test_map_before_and_behind_the_propagation_are_the_same(changes):
    problem = small_recommendation()
    model = build_model(problem, TWO, Settings(dim=4, dropout=0.0, **changes), 0)
    assert model.late_map is not None
    late = outputs_and_gradients(model, problem)
    model.late_map = None
    for got, wanted in zip(late, outputs_and_gradients(model, problem), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "changes", [{"states": "mean"}, {"residual": True}, {"shared_map": False}], ids=["states", "residual", "no map"]
)
def test_map_stays_before_the_propagation_where_state_0_is_read(changes):
    problem = small_recommendation()
    assert build_model(problem, TWO, Settings(dim=4, **changes), 0).late_map is None


def test_reach_is_computed_once_for_a_network():
    problem = small_classification()
    graph = problem.graph
    program = compile_program(METAGRAPHS["several operations a link"][0])
    late_map = LateMap([program])
    (found,) = late_map.reach(graph, None)
    ones = {t: torch.ones(graph.num_nodes[t], 2) for t in program.inputs}
    torch.testing.assert_close(found.expand(-1, 2), evaluate(program, graph, ones)[-1])
    assert late_map.reach(graph, None)[0] is found
    other = graph.aggregated("sum", self_loops=True)
    assert not torch.equal(late_map.reach(other, None)[0], found)
