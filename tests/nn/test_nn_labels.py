"""Training labels as inputs: a node never hears its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import IDENTITY, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.nn import labels as module
from diffmg.nn.labels import LabelInputs, own_shares
from diffmg.tasks import NodeClassification, NodeRegression
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model
from small_networks import AB, BA, BB, METAGRAPHS, small_classification, small_world
from worlds import metagraphs, worlds

PAPER = Settings(dim=4, dropout=0.0)
LABELLED = replace(PAPER, label_inputs=True)
(SEVERAL,) = METAGRAPHS["several operations a link"]
ECHOES = MetaGraph("b", ((BA, BB, IDENTITY), (BB, IDENTITY), (AB, BB)))
"""Along many ways, a node of b hears others of b, and itself: by neighbours, by a, and directly."""
LABELS = [0, 1, 0, 1, 1, 0, 1]
"""Of the small network's b; the first three are for training, the last one for the test."""

aggregations = st.builds(
    Settings, aggregate=st.sampled_from(["paper", "mean", "symmetric", "sum"]), self_loops=st.booleans()
)


@given(st.data(), worlds(), aggregations, st.booleans(), st.booleans())
def test_own_shares_are_the_diagonal_of_the_dense_operator(data, world, settings, every_state, weighted):
    """What comes out of a one-hot column a node, for all nodes at once."""
    metagraph = data.draw(metagraphs(world.schema))
    program = compile_program(metagraph, every_state=every_state)
    assume(compile_program(metagraph).steps)
    graph = world.graph().to(dtype=torch.float64).aggregated(settings.aggregate, self_loops=settings.self_loops)
    weights = torch.linspace(0.3, 1.0, len(metagraph.choices), dtype=torch.float64) if weighted else None
    nodes = torch.arange(0, world.num_nodes[metagraph.target], 2)
    got = own_shares(program, graph, nodes, weights)
    eye = torch.eye(sum(world.num_nodes.values()), dtype=torch.float64)
    rows = oracle.rows_of(world, metagraph.target)
    states = oracle.all_states(world, metagraph, eye, weights, settings)[1 if every_state else -1 :]
    wanted = torch.stack([h.diagonal()[rows] for h in states])
    wanted[:, 1::2] = 0
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_shares_computed_in_chunks_are_the_same(monkeypatch, columns):
    program, graph = compile_program(SEVERAL, every_state=True), small_world().graph()
    whole = own_shares(program, graph, torch.arange(7), None)
    monkeypatch.setattr(module, "COLUMNS", columns)
    torch.testing.assert_close(own_shares(program, graph, torch.arange(7), None), whole)
    assert whole.abs().max() > 0.1


def test_no_known_label_no_share():
    shares = own_shares(compile_program(SEVERAL), small_world().graph(), torch.arange(0), None)
    assert torch.equal(shares, torch.zeros(1, 7))


def relabelled(**changed: int) -> Problem:
    """The small network where some nodes have another label: `b0=1`."""
    labels = list(LABELS)
    for node, label in changed.items():
        labels[int(node.removeprefix("b"))] = label
    task = NodeClassification.build("b", labels, train=[0, 1, 2], val=[3, 4, 5], test=[6])
    return Problem(small_classification().graph, task)


def logits(problem: Problem, settings: Settings) -> Tensor:
    model = build_model(problem, [ECHOES], settings, 0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # or differences drown in the norm
    return model(problem.graph)[0]


@pytest.mark.parametrize(
    ("states", "residual", "links", "self_loops"),
    list(product(["last", "mean", "concat", "attention"], [False, True], ["sum", "mean"], [False, True])),
)
def test_a_label_changes_what_others_hear_and_never_what_its_own_node_does(states, residual, links, self_loops):
    settings = replace(LABELLED, states=states, residual=residual, links=links, self_loops=self_loops)
    before, after = logits(relabelled(), settings), logits(relabelled(b0=1), settings)
    changed = (before - after).abs().amax(dim=1)
    assert changed[0] < 1e-4
    assert changed.max() > 1e-2


def test_a_number_too_is_heard_by_others_alone():
    """That of training node 0 is changed, but not the scale, in which it is one of three."""
    numbers = NodeRegression.build("b", [1.0, 5.0, 9.0, 2.0, 3.0, 4.0, 6.0], train=[0, 1, 2], val=[3, 4, 5], test=[6])
    graph, values = small_classification().graph, numbers.values.clone()
    values[0] = 8.0
    before, after = (logits(Problem(graph, t), LABELLED) for t in (numbers, replace(numbers, values=values)))
    changed = (before - after).abs().amax(dim=1)
    assert changed[0] < 1e-4
    assert changed.max() > 1e-2


@pytest.mark.parametrize("states", ["last", "attention"])
def test_the_gradient_by_the_own_label_is_zero(states):
    """In double precision, of every node's logits by every label."""
    problem = relabelled()
    graph = problem.graph.to(dtype=torch.float64)
    settings = replace(LABELLED, states=states, residual=True)
    model = build_model(Problem(graph, problem.task), [ECHOES], settings, 0).double()
    model.labels.labels.requires_grad_()
    for node, row in enumerate(model(graph)[0]):
        (slope,) = torch.autograd.grad(row[0], model.labels.labels, retain_graph=True)
        if node < 3:  # others have no label of their own: theirs would be heard
            assert slope[node].abs().max() < 1e-12
        assert slope.abs().max() > 1e-3 or not slope.any()


def test_labels_of_validation_and_test_are_not_inputs():
    assert torch.equal(logits(relabelled(), LABELLED), logits(relabelled(b3=0, b6=0), LABELLED))


def test_a_label_that_nobody_hears_changes_nothing():
    """Features only: what is added is taken out again."""
    (own,) = METAGRAPHS["only the pass"]
    problem = small_classification()
    plain, labelled = (build_model(problem, [own], s, 0)(problem.graph)[0] for s in (PAPER, LABELLED))
    torch.testing.assert_close(labelled, plain, rtol=0, atol=1e-5)


def test_the_map_has_no_offset_and_is_all_that_is_saved():
    labels = torch.eye(7)[:, :2]
    inputs = LabelInputs(small_world().graph(), compile_program(SEVERAL), labels, 4, None, 0)
    assert torch.equal(inputs()[:2], inputs.map)
    assert not inputs()[2:].any()
    assert [name for name, p in inputs.named_parameters() if p.requires_grad] == ["map"]
    assert not {"labels", "shares"} & set(inputs.state_dict())


def test_a_task_without_labels_has_no_label_inputs():
    model = build_model(small_classification(), [SEVERAL], PAPER, 0)
    assert not hasattr(model, "labels")
