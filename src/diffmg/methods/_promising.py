"""Promising meta paths: those along which averaged features and training labels tell the label of a validation node.

A ridge regression on each path alone takes milliseconds. It proposes; what is proposed is judged by real training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from diffmg.core import EMPTY, IDENTITY, Link, MetaGraph, MetaPath, Operation, Task
from diffmg.core.metagraph import links_of
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.problem import Problem

COLUMNS = 64
"""Columns that wide features are projected to, at random."""
MOST = 200
"""Paths that are looked at, shortest first."""
RIDGE = 1.0


@torch.no_grad()
def promising_paths(problem: Problem, depth: int) -> list[MetaPath]:
    """Meta paths of one to `depth` relations into the target type, best first by a linear model on each alone.

    Only for tasks that label nodes; empty for all others.
    """
    task, labels = problem.task, problem.task.known_labels()
    if labels is None:
        return []
    graph, target = problem.graph, task.target_types[0]
    inputs = {t: _features(graph, t) for t in graph.schema.node_types}
    own = inputs[target]
    known = labels.abs().sum(dim=1) > 0
    found = []
    for path in list(_paths(graph, target, depth))[:MOST]:
        h = inputs[path[0].source]
        for relation in path:
            h = graph.propagation[relation].matrix.forward @ h
        found.append((_score(task, torch.cat([own, h], dim=1), labels, known), path))
    return [path for _, path in sorted(found, key=lambda pair: (-pair[0], len(pair[1]), pair[1]))]


def metagraph_of(paths: Sequence[MetaPath], target: str, most: int) -> MetaGraph:
    """A meta graph that holds these paths and the target's own features; paths of one length may cross.

    A path that would put more than `most` operations on a link is left out, unless it is the first.
    """
    depth = max(map(len, paths))
    links: dict[Link, list[Operation]] = {link: [] for link in links_of(depth)}
    links[Link(depth, 0)].append(IDENTITY)
    for path in paths:
        start = depth - len(path)
        steps = [(Link(start + n + 1, start + n if n else 0), relation) for n, relation in enumerate(path)]
        fresh = [(link, relation) for link, relation in steps if relation not in links[link]]
        if path is paths[0] or all(len(links[link]) < most for link, _ in fresh):
            for link, relation in fresh:
                links[link].append(relation)
    return MetaGraph.of(target, {link: tuple(operations) or (EMPTY,) for link, operations in links.items()})


def _paths(graph: HeteroGraph, target: str, depth: int) -> Iterator[MetaPath]:
    """Meta paths into the target, relations in message order, shortest first."""
    paths: list[MetaPath] = [()]
    for _ in range(depth):
        paths = [(r, *path) for path in paths for r in graph.schema.into(path[0].source if path else target)]
        yield from paths


def _features(graph: HeteroGraph, node_type: str) -> Tensor:
    """Features of a type in few columns; random vectors for a type without any."""
    x, draw = graph.features.get(node_type), generator("cpu", 0, "promising", node_type)
    if x is None:
        return torch.randn(graph.num_nodes[node_type], COLUMNS, generator=draw).to(graph.device)
    if x.shape[1] > COLUMNS:
        flat = (torch.randn(x.shape[1], COLUMNS, generator=draw) / COLUMNS**0.5).to(graph.device)
        reduced: Tensor = x @ flat
        return reduced
    return x.forward.to_dense() if isinstance(x, FixedMatrix) else x


def _score(task: Task, x: Tensor, labels: Tensor, known: Tensor) -> float:
    """The validation score of a ridge regression on standardised columns."""
    x = (x - x.mean(dim=0)) / x.std(dim=0).clamp_min(1e-6)
    x = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
    train = x[known]
    gram = train.T @ train + RIDGE * len(train) ** 0.5 * torch.eye(x.shape[1], device=x.device)
    weights = torch.linalg.solve(gram, train.T @ labels[known])
    value = task.sign * float(task.evaluate((8 * (x @ weights),), "val")[1])
    return value if value == value else -float("inf")
