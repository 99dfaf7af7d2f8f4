"""Promising routes: meta paths into the targets that tell something by themselves, found without training.

Where nodes are labelled, a ridge regression on what a path brings judges it; where pairs are, the likeness of what two
paths from one type bring to both ends. That proposes; what is proposed is judged by real training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import normalize

from diffmg.core import EMPTY, IDENTITY, Link, MetaGraph, MetaPath, Operation, Task
from diffmg.core.metagraph import links_of
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.problem import Problem

Route = tuple[MetaPath, ...]
"""One meta path for each target; the empty one is the target's own input."""
COLUMNS = 64
"""Columns that wide features are projected to, at random."""
MOST = 200
"""Paths that are looked at, shortest first."""
WORK = 5e8
"""Multiplications that comparing the ends of pairs may take."""
RIDGE = 1.0


@torch.no_grad()
def promising_routes(problem: Problem, depth: int) -> list[Route]:
    """Routes of up to `depth` relations to each target, best first by validation; empty where nothing is known."""
    if len(problem.task.target_types) == 2:
        return _routes_to_pairs(problem, depth)
    return [] if problem.task.known_labels() is None else _routes_to_labels(problem, depth)


def _routes_to_labels(problem: Problem, depth: int) -> list[Route]:
    task, labels, graph = problem.task, problem.task.known_labels(), problem.graph
    assert labels is not None, "asked above"
    (target,) = task.target_types
    inputs = {t: _features(graph, t) for t in graph.schema.node_types}
    own, known = inputs[target], labels.abs().sum(dim=1) > 0
    found = []
    for path in list(_paths(graph, target, depth))[:MOST]:
        h = brought(graph, path, inputs[path[0].source])
        found.append((_score(task, torch.cat([own, h], dim=1), labels, known), path))
    return [(path,) for _, path in sorted(found, key=lambda pair: (-pair[0], len(pair[1]), pair[1]))]


def _routes_to_pairs(problem: Problem, depth: int) -> list[Route]:
    """By the likeness of what both ends hear from one type: of its features, and of which of its nodes they are."""
    graph, task = problem.graph, problem.task
    most = int(max(50, min(2 * MOST, WORK / (COLUMNS * max(1, task.size("val"))))))
    ends = [[(), *_paths(graph, target, depth)][:MOST] for target in task.target_types]
    alike = [route for route in product(*ends) if len(set(_sources(route, task.target_types))) == 1 and any(route)]
    routes = sorted(alike, key=lambda route: (sum(map(len, route)), max(map(len, route))))[:most]
    known: dict[tuple[str, MetaPath, bool], Tensor] = {}

    def end(target: str, path: MetaPath, *, by_name: bool) -> Tensor:
        key = target, path, by_name
        if key not in known:
            h = brought(graph, path, _features(graph, path[0].source if path else target, by_name=by_name))
            known[key] = normalize(h - h.mean(dim=0))
        return known[key]

    def value(route: Route) -> float:
        source = _sources(route, task.target_types)[0]
        kinds = (True, False) if source in graph.features else (True,)
        outputs = [tuple(end(t, p, by_name=k) for t, p in zip(task.target_types, route, strict=True)) for k in kinds]
        return max(task.sign * float(task.score_votes(task.votes(o, "val"), "val")) for o in outputs)

    values = {route: value(route) for route in routes}
    return sorted(routes, key=lambda route: -values[route])


def _sources(route: Route, targets: Sequence[str]) -> list[str]:
    return [path[0].source if path else target for path, target in zip(route, targets, strict=True)]


def brought(graph: HeteroGraph, path: MetaPath, h: Tensor) -> Tensor:
    """What a path brings to its end from the inputs of its first type, averaged at every step."""
    for relation in path:
        h = graph.propagation[relation].matrix.forward @ h
    return h


def metagraphs_of(routes: Sequence[Route], targets: Sequence[str], most: int) -> tuple[MetaGraph, ...]:
    """For each target, a meta graph that holds the routes' paths to it."""
    ends = [list(dict.fromkeys(route[n] for route in routes if route[n])) for n in range(len(targets))]
    return tuple(
        metagraph_of(paths, target, most) if paths else MetaGraph.features_only(target)
        for paths, target in zip(ends, targets, strict=True)
    )


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


def _features(graph: HeteroGraph, node_type: str, *, by_name: bool = False) -> Tensor:
    """Features of a type in few columns; a random vector for every node if there are none, or if only names count."""
    x, draw = graph.features.get(node_type), generator("cpu", 0, "promising", node_type)
    if x is None or by_name:
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
