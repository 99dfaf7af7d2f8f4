from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

from diffmg.baselines import make_baseline
from diffmg.baselines.gcn import types_within, union
from diffmg.errors import DiffmgError
from diffmg.schema import Relation
from diffmg.task import NodeClassification
from diffmg.train import ModelTraining, Problem, TrainSettings
from oracle import adjacency, rows_of
from small_networks import small_classification, small_recommendation, small_world
from worlds import World, worlds

PROBLEMS = {"classification": small_classification, "recommendation": small_recommendation}
SETTINGS = TrainSettings(dim=6, max_epochs=3, patience=None)


def double(problem: Problem) -> Problem:
    return Problem(problem.graph.to(dtype=torch.float64), problem.task)


def dense_union(world: World) -> Tensor:
    """1 where two different nodes are linked."""
    links = sum(adjacency_pattern(world, r) for r in world.edges)
    links = links + links.T
    np.fill_diagonal(links, 0)
    return torch.from_numpy((links > 0).astype(float))


def adjacency_pattern(world: World, relation: Relation) -> np.ndarray:
    """Of a network as it would be without weights: an edge of weight 0 is an edge."""
    return adjacency(World(world.num_nodes, world.edges), relation)


def projected(world: World, model: nn.Module) -> Tensor:
    """Rows of all N nodes; zeros for types that the model does not read."""
    parts = []
    for node_type, n in world.num_nodes.items():
        if node_type not in model.types:
            parts.append(torch.zeros(n, SETTINGS.dim, dtype=torch.float64))
            continue
        projection = model.projections[model.types.index(node_type)]
        x = world.features.get(node_type, np.eye(n))
        x = torch.from_numpy(np.asarray(x.toarray() if sp.issparse(x) else x, np.float64))
        parts.append(x @ projection.weight + projection.bias)
    return torch.cat(parts)


def heads(world: World, model: nn.Module, z: Tensor) -> list[Tensor]:
    """The task's rows, after its head where it has one."""
    rows = [z[rows_of(world, t)] for t in model.targets]
    return [r if isinstance(model.head, nn.Identity) else r @ model.head.weight + model.head.bias for r in rows]


def dense(world: World, model: nn.Module) -> list[Tensor]:
    looped = dense_union(world) + torch.eye(sum(world.num_nodes.values()))
    degree = looped.sum(1)
    h = projected(world, model)
    for number, layer in enumerate(model.layers):
        h = h if number == 0 else h.clamp(min=0)
        h = looped / (degree[:, None] * degree).sqrt() @ h @ layer.weight + layer.bias
    return heads(world, model, h)


def assert_same_with_gradients(got: tuple[Tensor, ...], wanted: list[Tensor], model: nn.Module) -> None:
    torch.testing.assert_close(list(got), wanted)
    parameters = list(model.parameters())
    factors = [torch.randn(z.shape, dtype=z.dtype, generator=torch.Generator().manual_seed(1)) for z in got]
    ways = [
        torch.autograd.grad(sum((z * f).sum() for z, f in zip(out, factors, strict=True)), parameters)
        for out in (got, wanted)
    ]
    torch.testing.assert_close(ways[0], ways[1])


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_equals_the_dense_formula(kind, layers):
    problem = double(PROBLEMS[kind]())
    model = make_baseline("gcn", {"layers": layers}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


def labelled(world: World) -> Problem:
    """The nodes of a type that has four of them have labels; other worlds are passed over."""
    large = [t for t, n in world.num_nodes.items() if n == 4]
    assume(large)
    return double(Problem(world.graph(), NodeClassification.build(large[0], [0, 1, 0, 1], train=[0, 1], val=[2, 3])))


@given(world=worlds(), layers=st.integers(1, 3))
def test_equals_the_dense_formula_on_any_network(world, layers):
    problem = labelled(world)
    model = make_baseline("gcn", {"layers": layers}).build(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


@given(world=worlds())
def test_union_of_any_network(world):
    torch.testing.assert_close(torch.from_numpy(union(world.graph()).toarray()), dense_union(world))


@given(world=worlds())
def test_types_within_so_many_hops(world):
    """Powers of the matrix of types."""
    graph, types = world.graph(), list(world.num_nodes)
    linked = np.eye(len(types), dtype=int)
    for r in world.edges:
        linked[types.index(r.source), types.index(r.target)] = linked[types.index(r.target), types.index(r.source)] = 1
    for hops in range(4):
        near = np.linalg.matrix_power(linked, hops)[0] > 0
        assert types_within(graph, types[:1], hops) == tuple(t for t, yes in zip(types, near, strict=True) if yes)


def chain(far_edges: int = 4) -> tuple[World, Problem]:
    """a - b - c - d: nodes of a are labelled; c has edges to d that count in its degree."""
    rng = np.random.default_rng(0)
    nodes = {"d": 3, "a": 4, "b": 3, "c": 5, "alone": 2}
    ends = {Relation("b", "ba", "a"): 6, Relation("b", "bc", "c"): 6, Relation("d", "dc", "c"): far_edges}
    edges = {
        r: np.stack([rng.integers(0, nodes[r.source], n), rng.integers(0, nodes[r.target], n)]) for r, n in ends.items()
    }
    world = World(nodes, edges)
    task = NodeClassification.build("a", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    return world, Problem(world.graph(), task)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = make_baseline("gcn", {"layers": 2}).build(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)
    grads = torch.autograd.grad(model(problem.graph)[0].square().sum(), list(model.parameters()))
    assert all(g.any() for g in grads)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_dropout_comes_from_the_generator_alone(kind):
    problem = PROBLEMS[kind]()
    model = make_baseline("gcn").build(problem, SETTINGS, 0).train()
    outputs = []
    for seed, ambient in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        outputs.append(model(problem.graph, torch.Generator().manual_seed(seed))[0])
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("kind", PROBLEMS)
def test_state_is_parameters_alone_and_copies_compute_the_same(kind):
    problem = PROBLEMS[kind]()
    model = make_baseline("gcn").build(problem, SETTINGS, 0)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}
    training = ModelTraining(problem, model, SETTINGS, 0)
    while not training.done:
        training.advance()
    best = training.best_model().eval()
    torch.testing.assert_close(best(problem.graph), copy.deepcopy(best)(problem.graph))
    assert all(z.isfinite().all() for z in best(problem.graph))


def test_bad_options():
    with pytest.raises(DiffmgError, match=r"`layers >= 1` must hold, but got GCN\(layers=0\)"):
        make_baseline("gcn", {"layers": 0})
    with pytest.raises(DiffmgError, match="`layers` must be a whole number, but got layers='two'"):
        make_baseline("gcn", {"layers": "two"})
