from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines.gtn import GTN
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import ModelTraining
from oracle import adjacency, rows_of
from small_networks import small_classification, small_recommendation, small_world
from worlds import World

SETTINGS = Settings(dim=5, dropout=0.0)
RATE = 3.0


def choices(model, world: World, hop: int, channel: int) -> Tensor:
    """Q of one hop and channel over all N nodes, with all relations in the softmax: those left out get any number."""
    hop_of = model.hops[hop]
    learned = dict(zip((*hop_of.relations, None), hop_of.choice[:, channel].double() * RATE, strict=True))
    spare = torch.tensor(0.7 + hop, dtype=torch.float64)
    matrices = {r: torch.from_numpy(adjacency(world, r)) for r in world.edges}
    matrices[None] = torch.eye(len(matrices[next(iter(world.edges))]), dtype=torch.float64)
    weights = torch.stack([learned.get(r, spare) for r in matrices]).softmax(0)
    return sum(w * m for w, m in zip(weights, matrices.values(), strict=True))


def normalised(a: Tensor) -> Tensor:
    return a / a.sum(1, keepdim=True)


def oracle(model, world: World, problem: Problem) -> list[Tensor]:
    """The paper's formulas with the products formed and normalised after each layer."""
    n = sum(world.num_nodes.values())
    x = torch.zeros(n, SETTINGS.dim, dtype=torch.float64)
    for node_type, projection in zip(model.types, model.projections, strict=True):
        given = world.features.get(node_type, np.eye(world.num_nodes[node_type]))
        given = np.asarray(given.toarray() if sp.issparse(given) else given, np.float64)
        h = torch.from_numpy(given) @ projection.weight.double() + projection.bias.double()
        x = x + torch.nn.functional.pad(h, (0, 0, rows_of(world, node_type).start, n - rows_of(world, node_type).stop))
    xw = x @ model.transform.weight.double() + model.transform.bias.double()
    channels = []
    for channel in range(model.channels):
        product = torch.eye(n, dtype=torch.float64)
        for hop in reversed(range(len(model.hops))):
            product = normalised(product @ choices(model, world, hop, channel))
        looped = product + torch.eye(n, dtype=torch.float64)
        channels.append(torch.relu(normalised(looped) @ xw))
    z = torch.cat(channels, 1) @ model.mix.weight.double() + model.mix.bias.double()
    if problem.task.outputs:
        z = torch.relu(z) @ model.head.weight.double() + model.head.bias.double()
    return [z[rows_of(world, t)] for t in problem.task.target_types]


@pytest.mark.parametrize("make", [small_classification, small_recommendation])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_outputs_and_gradients_are_those_of_dense_products_normalised_as_in_the_paper(make, hops):
    problem = make()
    model = GTN(channels=2, hops=hops, choice_rate=RATE).network(problem, SETTINGS, seed=3)
    outputs, expected = model(problem.graph), oracle(model, small_world(), problem)
    for got, want in zip(outputs, expected, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)
    probes = [torch.randn(z.shape, generator=torch.Generator().manual_seed(1)) for z in outputs]
    parameters = list(model.parameters())
    loss, same = (sum((z * p).sum() for z, p in zip(zs, probes, strict=True)) for zs in (outputs, expected))
    for got, want in zip(torch.autograd.grad(loss, parameters), torch.autograd.grad(same, parameters), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


def test_relations_that_cannot_reach_the_target_are_not_built():
    model = GTN(hops=2).network(small_classification(), SETTINGS, seed=0)
    names = [{r.name for r in hop.relations} for hop in model.hops]
    assert names == [{"ab", "ab2", "ba", "bb", "aa", "cb", "ac"}, {"ab", "ab2", "bb", "cb"}]


def test_a_target_that_nothing_reaches_has_no_choices():
    graph = HeteroGraph.build({"a": 3, "b": 1}, {("a", "r", "b"): np.array([[0], [0]])})
    problem = Problem(graph, NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2]))
    model = GTN(channels=2).network(problem, SETTINGS, seed=0)
    assert model.types == ("a",)
    assert len(model.hops) == 0
    problem.task.loss(model(graph), "train").backward()
    assert all(p.grad is not None for p in model.parameters())


def test_channels_start_apart():
    model = GTN(channels=2).network(small_classification(), SETTINGS, seed=0)
    assert all(not torch.equal(hop.choice[:, 0], hop.choice[:, 1]) for hop in model.hops)


def test_choices_start_alike_and_move_at_their_rate():
    """Adam's first step moves every parameter by the learning rate, so choices by the rate times that."""
    problem, settings = small_classification(), Settings(dim=5, dropout=0.0, lr=0.01, weight_decay=0.0)
    starts, moves = [], []
    for rate in (1.0, 100.0):
        model = GTN(choice_rate=rate).network(problem, settings, seed=0)
        starts.append(rate * model.hops[0].choice.detach())
        ModelTraining(problem, model, settings, seed=0).advance()
        moves.append((rate * model.hops[0].choice.detach() - starts[-1]).abs())
    torch.testing.assert_close(*starts)
    torch.testing.assert_close(moves[0], torch.full_like(moves[0], 0.01), rtol=1e-2, atol=0)
    torch.testing.assert_close(moves[1], torch.full_like(moves[1], 1.0), rtol=1e-2, atol=0)


@pytest.mark.parametrize("favoured", [0, -1])
def test_a_choice_as_good_as_made_leaves_numbers_finite(favoured):
    """Of nodes without links, too, whose rows have identity alone."""
    problem = small_classification()
    model = GTN(hops=4).network(problem, SETTINGS, seed=0)
    with torch.no_grad():
        for hop in model.hops:
            hop.choice[favoured] = 1e3
    problem.task.loss(model(problem.graph), "train").backward()
    assert all(z.isfinite().all() for z in model(problem.graph))
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("options", [{"hops": 0}, {"channels": 0}, {"hops": "3"}, {"choice_rate": 0.0}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        GTN(**options)
