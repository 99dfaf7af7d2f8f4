"""Small problems that several baselines are tried on, and the parts of dense formulas that they share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import assume
from torch import Tensor, nn

from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from oracle import adjacency, rows_of
from small_networks import small_classification, small_recommendation
from worlds import World

PROBLEMS = {"classification": small_classification, "recommendation": small_recommendation}
SETTINGS = Settings(dim=6, max_epochs=3, patience=None)
CHOICES = {(0, 0), (1, 0), (2, 0), (0, 1), (2, 2)}
"""In the shop, of users 0 to 3 among items 0 to 3; user 3 chose nothing, nobody chose item 3."""


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


def assert_same_with_gradients(got: tuple[Tensor, ...], wanted: list[Tensor], model: nn.Module) -> None:
    torch.testing.assert_close(list(got), wanted)
    parameters = list(model.parameters())
    factors = [torch.randn(z.shape, dtype=z.dtype, generator=torch.Generator().manual_seed(1)) for z in got]
    ways = [
        torch.autograd.grad(sum((z * f).sum() for z, f in zip(out, factors, strict=True)), parameters)
        for out in (got, wanted)
    ]
    torch.testing.assert_close(ways[0], ways[1])


def labelled(world: World) -> Problem:
    """The nodes of a type that has four of them have labels; other worlds are passed over."""
    large = [t for t, n in world.num_nodes.items() if n == 4]
    assume(large)
    return double(Problem(world.graph(), NodeClassification.build(large[0], [0, 1, 0, 1], train=[0, 1], val=[2, 3])))


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


def shop(relations: dict | None = None) -> Problem:
    """Bought, its reverse, and a weighted click that repeats one choice and adds one."""
    edges = relations or {
        ("u", "bought", "i"): np.array([[0, 1, 2, 0], [0, 0, 0, 1]]),
        ("i", "rev_bought", "u"): np.array([[0, 0, 0, 1], [0, 1, 2, 0]]),
        ("i", "clicked", "u"): np.array([[0, 2], [0, 2]]),
        ("u", "knows", "u"): np.array([[0, 3], [3, 0]]),
    }
    weights = {("i", "clicked", "u"): [0.0, 5.0]} if relations is None else {}
    graph = HeteroGraph.build({"u": 4, "i": 4}, edges, weights=weights)
    positives = {"train": [[3, 0], [1, 1]], "val": [[3, 1]]}
    negatives = {"train": [[0, 3], [1, 3]], "val": [[3, 3]]}
    return Problem(graph, Recommendation.build("u", "i", (4, 4), positives, negatives))
