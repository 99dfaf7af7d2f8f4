from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines.hgt import HGT, attend, sorted_pairs
from diffmg.tasks import NodeClassification
from diffmg.tasks.pairs import Pairs
from diffmg.tasks.problem import Problem
from small_networks import small_classification, small_recommendation, small_world
from worlds import World

SETTINGS = Settings(dim=6, dropout=0.0, max_epochs=3)


def in_double(problem: Problem) -> Problem:
    return Problem(problem.graph.to(dtype=torch.float64), problem.task)


def first_states(model, world: World) -> dict[str, Tensor]:
    states = {}
    for node_type, projection in zip(model.types, model.projections, strict=True):
        x = world.features.get(node_type, np.eye(world.num_nodes[node_type]))
        x = torch.from_numpy(np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), np.float64))
        states[node_type] = torch.tanh(x @ projection.weight + projection.bias)
    return states


def mapped(layer, maps, types, node_type, h):
    m = maps[types.index(node_type)]
    return (h @ m.weight + m.bias).view(layer.heads, layer.width)


def next_state(layer, world: World, states, node_type: str, v: int) -> Tensor:
    """Equations 3 to 5 of the paper for one node, edge by edge, with the gate."""
    query = mapped(layer, layer.queries, layer.reached, node_type, states[node_type][v])
    scores, messages = [], []
    for number, relation in enumerate(layer.relations):
        if relation.target != node_type:
            continue
        for u in sorted({int(s) for s, t in world.edges[relation].T if t == v}):
            sender = states[relation.source][u]
            key = mapped(layer, layer.keys, layer.sources, relation.source, sender)
            value = mapped(layer, layer.values, layer.sources, relation.source, sender)
            heads = range(layer.heads)
            scale = layer.prior[number].flatten() / layer.width**0.5
            scores.append(torch.stack([key[n] @ layer.attention[number, n] @ query[n] * scale[n] for n in heads]))
            messages.append(torch.stack([value[n] @ layer.messages[number, n] for n in heads]))
    total = torch.zeros_like(query)
    if scores:
        total = (torch.stack(scores).softmax(0).unsqueeze(2) * torch.stack(messages)).sum(0)
    place = layer.reached.index(node_type)
    gate, out = torch.sigmoid(layer.gates[place]), layer.outputs[place]
    activated = torch.nn.functional.gelu(total.flatten())
    z = gate * (activated @ out.weight + out.bias) + (1 - gate) * states[node_type][v]
    norm = layer.norms[place]
    if isinstance(norm, torch.nn.Identity):
        return z
    return (z - z.mean()) / (z.var(correction=0) + norm.eps) ** 0.5 * norm.weight + norm.bias


def oracle(model, world: World, problem: Problem) -> list[Tensor]:
    states = first_states(model, world)
    for layer in model.layers:
        reached = {t: range(world.num_nodes[t]) for t in layer.reached}
        after = {t: torch.stack([next_state(layer, world, states, t, v) for v in vs]) for t, vs in reached.items()}
        states = {**states, **after}
    return [model.head(states[t]) for t in problem.task.target_types]


@pytest.mark.parametrize("make", [small_classification, small_recommendation])
@pytest.mark.parametrize(("layers", "layer_norm"), [(1, False), (2, True)])
def test_outputs_and_gradients_are_those_of_the_formula_edge_by_edge(make, layers, layer_norm):
    problem, settings = make(), replace(SETTINGS, layer_norm=layer_norm)
    model = HGT(layers=layers, heads=2).network(problem, settings, seed=3).double()
    with torch.no_grad():
        for p in (p for layer in model.layers for p in layer.norms.parameters()):
            p += 0.5 * torch.rand(p.shape, generator=torch.Generator().manual_seed(len(p)))
    outputs = model(in_double(problem).graph)
    expected = oracle(model, small_world(), problem)
    parameters = list(model.parameters())
    for got, want in zip(outputs, expected, strict=True):
        torch.testing.assert_close(got, want)
    probes = [torch.randn(z.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) for z in outputs]
    loss, same = (sum((z * p).sum() for z, p in zip(zs, probes, strict=True)) for zs in (outputs, expected))
    for got, want in zip(torch.autograd.grad(loss, parameters), torch.autograd.grad(same, parameters), strict=True):
        torch.testing.assert_close(got, want)


def chain() -> Problem:
    """c -> b -> a; only b and a have nodes that receive, a2 is isolated, d receives and sends nothing back."""
    edges = {
        ("b", "ba", "a"): np.array([[0, 1, 1], [0, 0, 1]]),
        ("c", "cb", "b"): np.array([[0, 1], [0, 0]]),
        ("a", "ad", "d"): np.array([[0], [0]]),
    }
    graph = HeteroGraph.build({"a": 3, "b": 2, "c": 2, "d": 1}, edges, {"a": np.eye(3, dtype=np.float32)})
    return Problem(graph, NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2]))


def test_only_what_reaches_the_target_is_built():
    model = HGT(layers=2, heads=2).network(chain(), SETTINGS, seed=0)
    assert model.types == ("a", "b", "c")
    assert [[r.name for r in layer.relations] for layer in model.layers] == [["ba", "cb"], ["ba"]]
    assert model(chain().graph)[0].isfinite().all()


def test_a_target_that_nothing_reaches_is_classified_by_its_features():
    task = NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2])
    graph = HeteroGraph.build({"a": 3, "b": 1}, {("a", "r", "b"): np.array([[0], [0]])})
    problem = Problem(graph, task)
    model = HGT(heads=2).network(problem, SETTINGS, seed=0)
    assert len(model.layers) == 0
    torch.testing.assert_close(model(graph)[0], model.head(model.projections[0](None).tanh()))


def test_parameters_follow_from_the_seed_alone_and_dropout_from_its_generator(classification):
    settings = Settings(dim=8, dropout=0.5)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    model = HGT(heads=2).network(classification, settings, seed=5)
    first = model(classification.graph, generator=torch.Generator().manual_seed(2))[0]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(9)
    again = HGT(heads=2).network(classification, settings, seed=5)
    assert torch.equal(again(classification.graph, generator=torch.Generator().manual_seed(2))[0], first)
    assert not torch.equal(again(classification.graph, generator=torch.Generator().manual_seed(3))[0], first)
    other = HGT(heads=2).network(classification, settings, seed=6)
    assert not torch.equal(other.layers[0].attention, model.layers[0].attention)


def test_attention_neither_overflows_nor_divides_by_nothing():
    pairs, _ = Pairs.build(np.array([[0, 0], [0, 1], [2, 1]]), 3, 2)
    queries, keys = torch.full((3, 2), 1e3), torch.tensor([[1e3, 0.0], [0.0, 1e3]])
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = torch.tensor([[2.0, 3.0], [0.0, 0.0], [3.0, 4.0]])
    torch.testing.assert_close(attend(queries, keys, values, pairs), expected)


def test_pairs_are_sorted_as_they_are_elsewhere():
    rng = np.random.default_rng(0)
    pairs = rng.permutation(np.argwhere(rng.random((13, 17)) < 0.3))
    expected, _ = Pairs.build(pairs, 14, 18)
    found = sorted_pairs(pairs, 14, 18)
    for f in fields(Pairs):
        torch.testing.assert_close(getattr(found, f.name), getattr(expected, f.name), rtol=0, atol=0)


@pytest.mark.parametrize("options", [{"layers": 0}, {"heads": 0}, {"layers": 1.5}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        HGT(**options)
