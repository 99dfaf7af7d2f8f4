"""The model of fixed meta graphs: every combination of switches against the dense oracle, and what each one adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import IDENTITY, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.nn import DerivedModel, Model
from diffmg.nn.derived import types_of
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model
from small_networks import AA, AC, METAGRAPHS, small_classification, small_recommendation
from worlds import World, metagraphs, worlds

DIM = 4
PAPER = Settings(dim=DIM, dropout=0.0)
SEVERAL, TWO = METAGRAPHS["several operations a link"], METAGRAPHS["two towers"]

switches = {
    "layer_norm": st.booleans(),
    "activation": st.sampled_from(["gelu", "relu", "none"]),
    "tanh": st.booleans(),
    "shared_map": st.booleans(),
    "vectors": st.booleans(),
    "counts": st.booleans(),
    "aggregate": st.sampled_from(["paper", "mean", "symmetric", "sum"]),
    "self_loops": st.booleans(),
    "links": st.sampled_from(["sum", "mean"]),
    "states": st.sampled_from(["last", "mean", "concat", "attention"]),
    "residual": st.booleans(),
}
any_task = {"dim": st.just(DIM), "dropout": st.just(0.0), **switches}
for_labels = st.builds(Settings, **any_task, label_inputs=st.booleans())
for_pairs = st.builds(Settings, **any_task, shared_tables=st.booleans(), biases=st.booleans())


def in_double(world: World, found: Sequence[MetaGraph], outputs: int, settings: Settings, labels: Tensor | None = None):
    """A model in double precision, no parameter at its start; and its network."""
    graph, draw = world.graph().to(dtype=torch.float64), torch.Generator().manual_seed(0)
    model = DerivedModel(graph, found, outputs, settings, 0, labels=labels).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.rand(parameter.shape, generator=draw) - 0.4)
    return model, graph


def some_labels(nodes: int, seed: int) -> Tensor:
    """Zeros and ones of three classes; about half of the nodes have none."""
    draw = torch.Generator().manual_seed(seed)
    one_hot = torch.eye(3, dtype=torch.float64)[torch.randint(3, (nodes,), generator=draw)]
    return one_hot * (torch.rand(nodes, 1, generator=draw) < 0.5)


def assert_close(got: Tensor, wanted: Tensor) -> None:
    """To 1e-5 of the largest entry; matrices are held in single precision."""
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-5 * max(1.0, wanted.abs().max().item()))


def assert_is_the_oracle(model: DerivedModel, world: World, outputs: Sequence[Tensor]) -> None:
    """Outputs, and gradients of all parameters."""
    wanted = oracle.outputs(world, model)
    parameters = [p for p in model.parameters() if p.requires_grad]
    slopes = []
    for found in (outputs, wanted):
        draw = torch.Generator().manual_seed(2)
        total = sum((z * torch.randn(z.shape, generator=draw, dtype=z.dtype)).sum() for z in found)
        slopes.append(torch.autograd.grad(total, parameters, allow_unused=True))
    for z, w in zip(outputs, wanted, strict=True):
        assert_close(z, w)
    for parameter, g, w in zip(parameters, *slopes, strict=True):
        assert_close(*(torch.zeros_like(parameter) if x is None else x for x in (g, w)))


@given(st.data(), worlds(), for_labels)
def test_logits_and_gradients_equal_those_of_the_dense_evaluation(data, world, settings):
    metagraph = data.draw(metagraphs(world.schema))
    assume(compile_program(metagraph).steps)
    labels = some_labels(world.num_nodes[metagraph.target], data.draw(st.integers(0, 9)))
    model, graph = in_double(world, [metagraph], 3, settings, labels)
    assert_is_the_oracle(model, world, model(graph))


@given(st.data(), worlds(), for_pairs)
def test_two_towers_equal_those_of_the_dense_evaluation(data, world, settings):
    found = [data.draw(metagraphs(world.schema)) for _ in range(2)]
    assume(all(compile_program(m).steps for m in found))
    model, graph = in_double(world, found, 0, settings)
    assert_is_the_oracle(model, world, model(graph))


def problem_of(found: Sequence[MetaGraph]) -> Problem:
    return small_classification() if len(found) == 1 else small_recommendation()


@pytest.mark.parametrize("found", [SEVERAL, TWO], ids=["labels", "pairs"])
def test_the_defaults_are_the_model_of_the_paper(found):
    """Parameters by name and start, nothing else saved, and outputs."""
    problem = problem_of(found)
    model = build_model(problem, found, PAPER, 0)
    paper = Model(problem.graph, types_of(found), problem.task.outputs, PAPER, 0)
    state, wanted = model.state_dict(), paper.state_dict()
    assert list(state) == list(wanted) == [name for name, _ in model.named_parameters()]
    assert all(torch.equal(state[name], wanted[name]) for name in wanted)
    for got, z in zip(model(problem.graph), paper(problem.graph, found), strict=True):
        torch.testing.assert_close(got, z, rtol=0, atol=1e-6)


def names(found: Sequence[MetaGraph], **changes) -> set[str]:
    """Of all that is trained; nothing else is saved, but what stays at zero."""
    model = build_model(problem_of(found), found, replace(PAPER, **changes), 0)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    state = model.state_dict()
    assert trained <= set(state)
    assert not any(state[name].any() for name in set(state) - trained)
    return trained


def affine_names(*maps: str) -> set[str]:
    return {f"{map_}.{part}" for map_ in maps for part in ("weight", "bias")}


def tower_names(number: int, projections: int) -> set[str]:
    own = affine_names("shared", "readout.norm", *(f"projections.{n}" for n in range(projections)))
    return {f"towers.{number}.{name}" for name in own}


def test_parameters_of_one_tower_by_name():
    paper = tower_names(0, 3) | affine_names("head")
    assert names(SEVERAL) == paper
    assert names(SEVERAL, label_inputs=True) == paper | {"labels.map"}
    assert names(SEVERAL, residual=True) == paper | {"towers.0.readout.gate"}
    for unchanged in ({"links": "mean"}, {"aggregate": "sum"}, {"self_loops": False}, {"states": "mean"}):
        assert names(SEVERAL, **unchanged) == paper


def test_parameters_of_two_towers_by_name():
    assert names(TWO) == tower_names(0, 2) | tower_names(1, 2)
    assert names(TWO, biases=True) == names(TWO) | {"biases.0", "biases.1"}
    shared = tower_names(0, 3) | {"towers.1.readout.norm.weight", "towers.1.readout.norm.bias"}
    assert names(TWO, shared_tables=True) == shared


def test_a_target_that_only_the_readout_reads_has_a_projection():
    """Without a gate or all states, types that a program does not read have none; it always reads its target."""
    found = (MetaGraph("a", ((IDENTITY,),)), MetaGraph("c", ((AC,),)))
    for changes in ({}, {"residual": True}, {"states": "mean"}):
        model = build_model(small_recommendation(), found, replace(PAPER, **changes), 0)
        assert [tower.node_types for tower in model.encoders] == [("a",), ("a", "c")]


def test_a_shared_table_feeds_both_towers():
    problem = small_recommendation()
    found = (MetaGraph("a", ((AA,),)), MetaGraph("c", ((AC,),)))
    model = build_model(problem, found, replace(PAPER, shared_tables=True), 0)
    place = model.encoders[0].node_types.index("a")
    for z in model(problem.graph):
        table = model.encoders[0].projections[place].weight
        (slope,) = torch.autograd.grad((z**3).sum(), table, retain_graph=True)
        assert slope.abs().max() > 1e-6


def test_shared_dropout_is_drawn_once():
    """Both towers of one meta graph see the same state 0 while training."""
    problem = small_recommendation()
    settings = Settings(dim=DIM, dropout=0.5, shared_tables=True)
    model = DerivedModel(problem.graph, (MetaGraph("a", ((AA,),)),) * 2, 0, settings, 0)
    assert torch.equal(*model(problem.graph, torch.Generator().manual_seed(0)))


def test_biases_are_added_to_the_scores():
    problem = small_recommendation()
    plain, model = (build_model(problem, TWO, replace(PAPER, biases=b), 0) for b in (False, True))
    users, items = plain(problem.graph)
    torch.testing.assert_close(torch.matmul(*_pair(model(problem.graph))), users @ items.T)
    with torch.no_grad():
        for number, bias in enumerate(model.biases):
            bias.copy_(torch.arange(len(bias)).unsqueeze(1) + 10.0 * number)
    wanted = users @ items.T + torch.arange(len(users)).unsqueeze(1) + torch.arange(len(items)) + 10.0
    torch.testing.assert_close(torch.matmul(*_pair(model(problem.graph))), wanted)


def _pair(outputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    return outputs[0], outputs[1].T


@pytest.mark.parametrize("states", ["last", "attention"])
def test_the_start_depends_on_the_seed_alone(states):
    problem, settings = small_classification(), replace(PAPER, states=states, label_inputs=True, residual=True)

    def start(seed: int) -> dict[str, Tensor]:
        return build_model(problem, SEVERAL, settings, seed).state_dict()

    torch.manual_seed(0)
    first = start(1)
    torch.manual_seed(5)
    assert all(torch.equal(x, start(1)[name]) for name, x in first.items())
    assert not torch.equal(first["labels.map"], start(2)["labels.map"])
