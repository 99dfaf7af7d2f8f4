from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines.magnn import MAGNN, rotate, turns_of
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from small_networks import AB, BA, BB, NODES, small_classification, small_recommendation, small_world

SETTINGS = Settings(dim=4, max_epochs=3, patience=None)
BY_NAME = {r.name: r for r in small_world().edges}


def projected(model: nn.Module) -> dict[str, Tensor]:
    states = {}
    for number, node_type in enumerate(model.types):
        x = small_world().features.get(node_type, np.eye(NODES[node_type]))
        dense = torch.tensor(x.toarray() if hasattr(x, "toarray") else x, dtype=torch.float64)
        states[node_type] = dense @ model.projections[number].weight + model.projections[number].bias
    return states


def chains(names: list[str]) -> list[tuple[int, ...]]:
    """Every instance of the path, nodes in the order messages take them."""
    world = small_world()
    found: list[tuple[int, ...]] = [(n,) for n in range(world.num_nodes[BY_NAME[names[0]].source])]
    for name in names:
        edges = sorted(set(map(tuple, world.edges[BY_NAME[name]].T.tolist())))
        found = [(*nodes, t) for nodes in found for s, t in edges if s == nodes[-1]]
    return found


def encoded(names: list[str], nodes: tuple[int, ...], h: dict[str, Tensor], phases: dict[str, Tensor]) -> Tensor:
    """o_i = h_i + o_(i-1) * r_i in complex numbers, one instance at a time."""
    o = torch.view_as_complex(h[BY_NAME[names[0]].source][nodes[0]].view(-1, 2))
    for name, node in zip(names, nodes[1:], strict=True):
        here = torch.view_as_complex(h[BY_NAME[name].target][node].view(-1, 2))
        o = here + o * torch.polar(torch.ones_like(phases[name]), phases[name])
    return torch.view_as_real(o / len(nodes)).flatten()


def attended(names: list[str], h: dict[str, Tensor], phases: dict[str, Tensor], own: Tensor, other: Tensor) -> Tensor:
    target, width = h[BY_NAME[names[-1]].target], own.shape[1]
    rows = []
    for node in range(len(target)):
        states = [encoded(names, nodes, h, phases) for nodes in chains(names) if nodes[-1] == node]
        total = target[node]
        if states:
            parts = []
            for k in range(len(own)):
                cut = slice(k * width, (k + 1) * width)
                scores = torch.stack([own[k] @ target[node][cut] + other[k] @ s[cut] for s in states])
                weights = torch.where(scores > 0, scores, 0.2 * scores).softmax(0)
                parts.append(sum(w * s[cut] for w, s in zip(weights, states, strict=True)))
            total = torch.cat(parts)
        rows.append(torch.where(total > 0, total, total.exp() - 1))
    return torch.stack(rows)


def combined(tower: nn.Module, paths: list[list[str]], h: dict[str, Tensor], phases: dict[str, Tensor]) -> Tensor:
    states = [attended(names, h, phases, a.own, a.other) for names, a in zip(paths, tower.along, strict=True)]
    if len(states) == 1:
        return states[0]
    inner = tower.across.inner
    scores = torch.stack([(torch.tanh(z @ inner.weight + inner.bias) @ tower.across.query).mean() for z in states])
    return sum(w * z for w, z in zip(scores.softmax(0), states, strict=True))


def in_double(problem: Problem, model: nn.Module) -> tuple[Problem, nn.Module]:
    return Problem(problem.graph.to(dtype=torch.float64), problem.task), model.double().eval()


def test_classification_is_the_formula_over_all_instances():
    paths = ("b -> b", "b -> a -ab-> b", "b -> a -> c -> b")
    model = MAGNN(paths, heads=2, attention_dim=5, sampled=1000).network(small_classification(), SETTINGS, 0)
    problem, model = in_double(small_classification(), model)
    turns = turns_of(problem.graph, {BY_NAME[n] for n in ("bb", "ba", "ab", "ac", "cb")})
    phases = {r.name: sign * model.phases[row] for r, (row, sign) in turns.items()}
    names = [["bb"], ["ba", "ab"], ["ba", "ac", "cb"]]
    z = combined(model.towers[0], names, projected(model), phases)
    wanted = z @ model.head.weight + model.head.bias
    (found,) = model(problem.graph)
    torch.testing.assert_close(found, wanted)
    scale = torch.randn(found.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parameters = list(model.parameters())
    for one, other in zip(
        torch.autograd.grad((found * scale).sum(), parameters),
        torch.autograd.grad((wanted * scale).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_recommendation_has_a_tower_and_a_map_for_each_type():
    model = MAGNN(("a -ab2-> b -> a", "c -> b -> a -> c"), heads=1, sampled=1000)
    model = model.network(small_recommendation(), SETTINGS, 0)
    problem, model = in_double(small_recommendation(), model)
    turns = turns_of(problem.graph, {BY_NAME[n] for n in ("ab2", "ba", "cb", "ac")})
    phases = {r.name: sign * model.phases[row] for r, (row, sign) in turns.items()}
    for tower, found, names in zip(
        model.towers, model(problem.graph), ([["ab2", "ba"]], [["cb", "ba", "ac"]]), strict=True
    ):
        z = combined(tower, names, projected(model), phases)
        torch.testing.assert_close(found, z @ tower.output.weight + tower.output.bias)


def test_a_path_without_instances_leaves_every_node_its_state():
    edges = {("a", "ab", "b"): [[0], [0]], ("b", "ba", "a"): [[1], [0]], ("a", "aa", "a"): [[0, 1], [1, 0]]}
    graph = HeteroGraph.build({"a": 4, "b": 2}, edges)
    task = NodeClassification.build("a", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    model = MAGNN("a -> b -> a", heads=2).network(Problem(graph, task), SETTINGS, 0).eval()
    (found,) = model(graph)
    h = model.projections[0].weight + model.projections[0].bias
    torch.testing.assert_close(found, torch.where(h > 0, h, h.exp() - 1) @ model.head.weight + model.head.bias)
    grads = torch.autograd.grad(found.sum(), list(model.parameters()), materialize_grads=True, allow_unused=True)
    assert all(g.isfinite().all() for g in grads)


def test_a_rotation_is_a_complex_product():
    h = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    angles = torch.tensor([0.3, -2.0], dtype=torch.float64)
    turned = torch.view_as_complex(h.view(3, 2, 2)) * torch.exp(1j * angles)
    torch.testing.assert_close(rotate(h, angles), torch.view_as_real(turned).flatten(1))
    torch.testing.assert_close(rotate(rotate(h, angles), -angles), h)


def test_a_relation_and_its_reverse_turn_opposite_ways():
    edges = np.array([[0, 1, 1], [0, 0, 1]])
    pairs = {("a", "ab", "b"): edges, ("b", "ba", "a"): edges[::-1], ("a", "other", "b"): [[0], [1]]}
    graph = HeteroGraph.build({"a": 2, "b": 2}, pairs | {("a", "aa", "a"): [[0, 1], [1, 0]]})
    ab, ba, other, aa = graph.schema.relations
    turns = turns_of(graph, {ab, ba, other, aa})
    assert turns == {ab: (0, 1), ba: (0, -1), other: (1, 1), aa: (2, 1)}
    assert turns_of(graph, {ba, aa}) == {ba: (0, 1), aa: (1, 1)}


def test_relations_without_a_reverse_have_phases_of_their_own():
    turns = turns_of(small_world().graph(), {AB, BA, BB})
    assert sorted(turns.values()) == [(0, 1), (1, 1), (2, 1)]


def test_instances_are_drawn_once_from_the_seed():
    def nodes(seed: int) -> list[list[int]]:
        model = MAGNN("b -> a -ab-> b", heads=2, sampled=2).network(small_classification(), SETTINGS, seed)
        columns = model.towers[0].along[0].encoder.places.forward_columns.view(-1, 3)
        return (columns - torch.tensor([0, NODES["b"], NODES["b"] + NODES["a"]])).tolist()

    assert nodes(0) == nodes(0)
    assert any(nodes(0) != nodes(seed) for seed in range(1, 5))
    assert {tuple(row) for row in nodes(0)} < set(chains(["ba", "ab"]))
    assert max(np.bincount([row[-1] for row in nodes(0)])) <= 2


def test_dropout_comes_from_the_generator(classification):
    model = MAGNN(heads=2).network(classification, SETTINGS, 0).train()
    first, again, other = (model(classification.graph, torch.Generator().manual_seed(s))[0] for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    "wrong", [{"heads": 0}, {"sampled": 0}, {"longest": 0}, {"attention_dim": 0}, {"sampled": "all"}, {"paths": 3}]
)
def test_bad_options(wrong):
    with pytest.raises(DiffmgError, match=next(iter(wrong))):
        MAGNN(**wrong)


@pytest.mark.parametrize(("dim", "message"), [(5, "`dim` must be even, .* but got dim=5"), (6, "multiple of `heads`")])
def test_dim_must_fit(dim, message):
    heads = 1 if dim == 5 else 4
    with pytest.raises(DiffmgError, match=message):
        MAGNN(heads=heads).network(small_classification(), Settings(dim=dim), 0)
