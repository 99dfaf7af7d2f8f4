from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines.sehgnn import SeHGNN
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from oracle import adjacency, rows_of
from small_networks import small_classification, small_recommendation, small_world
from worlds import World

SETTINGS = Settings(dim=5, dropout=0.0)
SEED = 3


def paths_into(world: World, target: str, hops: int) -> set[tuple[Relation, ...]]:
    """Every sequence of relations, kept where each starts where the one before it ends."""
    found = set()
    for length in range(1, hops + 1):
        for walk in product(world.edges, repeat=length):
            if walk[0].target == target and all(a.source == b.target for a, b in pairwise(walk)):
                found.add(walk)
    return found


def dense_features(world: World, node_type: str) -> Tensor:
    given = world.features.get(node_type)
    if given is None:
        draw = generator("cpu", SEED, "features", node_type)
        return torch.randn(world.num_nodes[node_type], SETTINGS.dim, generator=draw).double()
    return torch.from_numpy(np.asarray(given.toarray() if sp.issparse(given) else given, np.float64))


def averaged(world: World, path: tuple[Relation, ...]) -> Tensor:
    """The product of the row-normalised relations, formed, times the features."""
    whole = np.eye(world.num_nodes[path[0].target])
    for relation in path:
        a = adjacency(world, relation)[rows_of(world, relation.target), rows_of(world, relation.source)]
        sums = a.sum(1, keepdims=True)
        whole = whole @ np.where(sums > 0, a / np.where(sums > 0, sums, 1), 0)
    return torch.from_numpy(whole) @ dense_features(world, path[-1].source)


def oracle(tower, world: World, *, norm: bool) -> Tensor:
    own = world.features.get(tower.target, np.eye(world.num_nodes[tower.target]))
    own = np.asarray(own.toarray() if sp.issparse(own) else own, np.float64)
    inputs = [torch.from_numpy(own), *(averaged(world, path) for path in tower.paths[1:])]
    h = [x @ p.weight.double() + p.bias.double() for x, p in zip(inputs, tower.projections, strict=True)]
    if norm:
        h = [(x - x.mean(1, keepdim=True)) / (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt() for x in h]
    query, key, value = tower.fusion.maps.double().split(SETTINGS.dim, dim=1)
    fused = []
    for mine in h:
        scores = torch.stack([((mine @ query) * (other @ key)).sum(1) for other in h], 1).softmax(1)
        mixed = sum(scores[:, [n]] * (other @ value) for n, other in enumerate(h))
        fused.append(mine + tower.fusion.beta.double() * mixed)
    hidden = torch.relu(torch.cat(fused, 1) @ tower.hidden.weight.double() + tower.hidden.bias.double())
    return hidden @ tower.last.weight.double() + tower.last.bias.double()


@pytest.mark.parametrize("make", [small_classification, small_recommendation])
@pytest.mark.parametrize(("hops", "norm"), [(1, False), (2, True)])
def test_outputs_are_those_of_dense_products_along_every_path(make, hops, norm):
    problem, world = make(), small_world()
    settings = Settings(dim=5, dropout=0.0, layer_norm=norm)
    model = SeHGNN(hops=hops).network(problem, settings, seed=SEED)
    with torch.no_grad():
        for tower in model.towers:
            tower.fusion.beta.fill_(0.6)
    outputs = model(problem.graph)
    assert [tower.target for tower in model.towers] == list(problem.task.target_types)
    for got, tower in zip(outputs, model.towers, strict=True):
        assert set(tower.paths[1:]) == paths_into(world, tower.target, hops)
        assert tower.paths[0] == ()
        torch.testing.assert_close(got.double(), oracle(tower, world, norm=norm), rtol=1e-4, atol=1e-4)


def test_the_averages_are_fixed_and_no_part_of_the_state():
    problem = small_recommendation()
    model = SeHGNN().network(problem, SETTINGS, seed=SEED)
    buffers = dict(model.named_buffers())
    assert len(buffers) == sum(len(tower.paths) - 1 for tower in model.towers)
    assert not any(b.requires_grad for b in buffers.values())
    again = dict(SeHGNN().network(problem, SETTINGS, seed=SEED).named_buffers())
    other = dict(SeHGNN().network(problem, SETTINGS, seed=SEED + 1).named_buffers())
    assert all(torch.equal(b, again[name]) for name, b in buffers.items())
    assert any(not torch.equal(b, other[name]) for name, b in buffers.items())


def test_a_target_that_nothing_reaches_has_its_own_features_alone():
    graph = HeteroGraph.build({"a": 3, "b": 1}, {("a", "r", "b"): np.array([[0], [0]])})
    problem = Problem(graph, NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2]))
    model = SeHGNN().network(problem, SETTINGS, seed=0)
    assert model.towers[0].paths == ((),)
    problem.task.loss(model(graph), "train").backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("options", [{"hops": 0}, {"hops": True}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        SeHGNN(**options)
