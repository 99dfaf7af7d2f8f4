"""A model whose towers go through the fused kernels against the same model in plain torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from diffmg.core.engine import Engine
from diffmg.core.metagraph import IDENTITY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.nn import Model
from diffmg.nn.derived import types_of
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.training import build_model
from resuming import run
from small_networks import AA, AB, BA, METAGRAPHS, small_classification, small_recommendation, small_world

pytest.importorskip("triton", reason="the fused kernels are written in Triton, which is not installed")

DIM = 6
PLAIN = Settings(dim=DIM, dropout=0.0)
TOWERS = METAGRAPHS["towers with different numbers of operations"]
UNEQUAL = (MetaGraph("b", ((BA, IDENTITY), (AB,), (AB,))), MetaGraph("a", ((AA,),)))
Way = Callable[[bool], None]
Ways = list[tuple[tuple[Tensor, ...], dict[str, Tensor]]]


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> Way:
    """Says which way models go from now on."""

    def go(on: bool) -> None:
        for module in ("model", "derived"):
            monkeypatch.setattr(f"diffmg.nn.{module}.fused", lambda graph: on)

    return go


def graph_on(device: torch.device, **switches) -> HeteroGraph:
    return replace(small_world().graph().to(device), engine=Engine(**switches))


def gradients(module: nn.Module) -> dict[str, Tensor]:
    """By name; none is zero."""
    found = {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in module.named_parameters()}
    module.zero_grad()
    return found


def weights_of(metagraphs: Sequence[MetaGraph], device: torch.device) -> list[Tensor]:
    draw = torch.Generator().manual_seed(1)
    made = [0.2 + torch.rand(len(m.choices), generator=draw) for m in metagraphs]
    return [w.to(device).requires_grad_() for w in made]


def backward(outputs: Sequence[Tensor]) -> None:
    """Gradients of a fixed linear function."""
    draw = torch.Generator().manual_seed(2)
    sum((o * torch.randn(o.shape, generator=draw).to(o.device)).sum() for o in outputs).backward()


def both_ways(
    fused: Way, model: Model, graph: HeteroGraph, metagraphs: Sequence[MetaGraph], *, weighted: bool = False
) -> Ways:
    """Outputs and gradients, first by the kernels, then in plain torch."""
    found = []
    for on in (True, False):
        fused(on)
        weights = weights_of(metagraphs, graph.device) if weighted else None
        outputs = model(graph, metagraphs, weights)
        backward(outputs)
        given = {} if weights is None else {f"weights {n}": w.grad for n, w in enumerate(weights)}
        found.append((tuple(o.detach() for o in outputs), gradients(model) | given))
    return found


def assert_equal(ways: Ways) -> None:
    (outputs, grads), (wanted_outputs, wanted_grads) = ways
    torch.testing.assert_close(outputs, wanted_outputs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(grads, wanted_grads, rtol=1e-4, atol=1e-5)
    assert any(g.abs().max() > 1e-2 for g in wanted_grads.values())


@pytest.mark.parametrize(("norm", "weighted"), [("learned", False), ("plain", True), ("off", True)])
def test_one_tower_and_a_head(fused, device, norm, weighted):
    """Features that are dense or sparse, and a type without any; tanh after the projection."""
    graph, metagraphs = graph_on(device), METAGRAPHS["several operations a link"]
    settings = replace(PLAIN, layer_norm=norm != "off", tanh=True)
    model = Model(graph, types_of(metagraphs), 4, settings, seed=0, learned_norm=norm == "learned")
    assert_equal(both_ways(fused, model, graph, metagraphs, weighted=weighted))


@pytest.mark.parametrize(("tanh", "weighted"), [(False, True), (True, False)])
def test_two_towers_without_a_head(fused, device, tanh, weighted):
    graph = graph_on(device)
    model = Model(graph, types_of(TOWERS), 0, replace(PLAIN, tanh=tanh), seed=0)
    assert_equal(both_ways(fused, model, graph, TOWERS, weighted=weighted))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_towers_of_different_depth(fused, device, weighted):
    graph = graph_on(device)
    assert {m.depth for m in UNEQUAL} == {1, 2}
    model = Model(graph, types_of(UNEQUAL), 0, PLAIN, seed=0)
    assert_equal(both_ways(fused, model, graph, UNEQUAL, weighted=weighted))


def test_types_a_tower_does_not_read(fused, device):
    """Left out of the model, or there without a gradient."""
    graph, metagraphs = graph_on(device), METAGRAPHS["two towers"]
    lean = types_of(metagraphs)
    assert lean == [("a", "b"), ("a", "c")]
    for types in (lean, [graph.schema.node_types] * 2):
        model = Model(graph, types, 0, PLAIN, seed=0)
        ways = both_ways(fused, model, graph, metagraphs)
        assert_equal(ways)
    assert not ways[0][1]["towers.0.projections.2.weight"].any()
    assert ways[0][1]["towers.1.projections.2.weight"].any()


def test_a_meta_graph_that_carries_nothing(fused, device):
    graph, metagraphs = graph_on(device), METAGRAPHS["one tower with nothing"]
    model = Model(graph, [("a", "b"), ()], 0, PLAIN, seed=0)
    assert_equal(both_ways(fused, model, graph, metagraphs))


def test_columns_in_slices(fused, device):
    graph, whole = graph_on(device, columns=4), graph_on(device)
    model = Model(graph, types_of(METAGRAPHS["two towers"]), 0, PLAIN, seed=0)
    towers = METAGRAPHS["two towers"]
    sliced = both_ways(fused, model, graph, towers, weighted=True)
    assert_equal(sliced)
    assert_equal([sliced[0], both_ways(fused, model, whole, towers, weighted=True)[1]])


def test_states_in_half_the_bits(fused, device):
    """Both ways round, and are about as far from what is exact."""
    model = Model(graph_on(device), types_of(TOWERS), 0, replace(PLAIN, layer_norm=False), seed=0)
    exact = both_ways(fused, model, graph_on(device), TOWERS)[1][0]
    for outputs, _ in both_ways(fused, model, graph_on(device, storage="bfloat16"), TOWERS):
        assert not any(torch.equal(o, e) for o, e in zip(outputs, exact, strict=True))
        torch.testing.assert_close(outputs, exact, rtol=2e-2, atol=2e-2)


def test_dropout_acts_in_training_only_and_repeats_with_its_generator(fused, device):
    fused(True)
    graph, metagraphs = graph_on(device), METAGRAPHS["a path"]
    model = Model(graph, types_of(metagraphs), 0, replace(PLAIN, dropout=0.5), seed=0)

    def once(seed: int) -> Tensor:
        return model(graph, metagraphs, generator=torch.Generator(device).manual_seed(seed))[0]

    assert torch.equal(once(0), once(0))
    assert not torch.equal(once(0), once(1))
    model.eval()
    assert torch.equal(once(0), once(1))


def test_one_meta_graph_per_tower(fused, device):
    fused(True)
    graph = graph_on(device)
    model = Model(graph, types_of(TOWERS), 0, PLAIN, seed=0)
    with pytest.raises(ValueError, match="zip"):
        model(graph, TOWERS[:1])


def derived_both_ways(fused: Way, problem: Problem, metagraphs: Sequence[MetaGraph], settings: Settings) -> Ways:
    """The same of a model of fixed meta graphs."""
    found = []
    for on in (True, False):
        fused(on)
        model = build_model(problem, metagraphs, settings, 0)
        outputs = model(problem.graph)
        backward(outputs)
        found.append((tuple(o.detach() for o in outputs), gradients(model)))
    return found


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"aggregate": "mean", "self_loops": False},
        {"aggregate": "symmetric", "self_loops": False},
        {"aggregate": "symmetric"},
        {"aggregate": "sum", "links": "mean"},
        {"links": "mean"},
        {"shared_map": False, "activation": "relu"},
        {"vectors": True, "counts": True, "activation": "none"},
        {"label_inputs": True},
        {"label_inputs": True, "links": "mean", "residual": True},
        {"states": "attention"},
        {"states": "mean", "label_inputs": True, "residual": True},
    ],
    ids=str,
)
def test_every_switch_of_one_tower(fused, device, switches):
    problem = small_classification().to(device, Engine(capture=False))
    metagraphs = METAGRAPHS["several operations a link"]
    assert_equal(derived_both_ways(fused, problem, metagraphs, replace(PLAIN, **switches)))


@pytest.mark.parametrize(
    "switches",
    [
        {"biases": True},
        {"shared_tables": True, "biases": True},
        {"shared_tables": True, "shared_map": False, "aggregate": "symmetric", "self_loops": False},
        {"residual": True, "states": "concat"},
    ],
    ids=str,
)
@pytest.mark.parametrize("depths", ["equal", "different"])
def test_every_switch_of_two_towers(fused, device, switches, depths):
    problem = small_recommendation().to(device, Engine(capture=False))
    users, items = METAGRAPHS["two towers"]
    metagraphs = (users if depths == "equal" else MetaGraph("a", ((AA, IDENTITY),)), items)
    assert_equal(derived_both_ways(fused, problem, metagraphs, replace(PLAIN, **switches)))


@pytest.mark.parametrize(
    ("made", "metagraphs"),
    [(small_classification, METAGRAPHS["a path"]), (small_recommendation, METAGRAPHS["two towers"])],
)
def test_a_training_is_the_same_both_ways(fused, device, made, metagraphs):
    problem = made().to(device, Engine(capture=False))
    settings = Settings(dim=DIM, max_epochs=2, dropout=0.0, patience=None, tanh=True)
    jobs, histories = [], []
    for on in (True, False):
        fused(on)
        jobs.append(Training(problem, metagraphs, settings, seed=0))
        histories.append([(r.train_loss, r.val_loss, r.val_score) for r in run(jobs[-1])])
    torch.testing.assert_close(*map(torch.tensor, histories), rtol=1e-4, atol=1e-5)
    one, other = (dict(job.model.named_parameters()) for job in jobs)
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
