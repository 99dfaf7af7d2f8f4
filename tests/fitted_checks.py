"""What every fitted baseline is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.nn.fitted import Fitted
from diffmg.tasks import NodeClassification, NodeRegression
from diffmg.tasks.problem import Problem
from small_networks import small_world

SETTINGS = Settings(dim=4)


def fitted(method, problem: Problem, seed: int = 0) -> Fitted:
    network = method.network(problem, SETTINGS, seed)
    assert not network.is_fitted, "building a network computes nothing"
    network.fit(problem, seed)
    return network.eval()


def outputs(method, problem: Problem, seed: int = 0) -> tuple[torch.Tensor, ...]:
    return fitted(method, problem, seed)(problem.graph)


def assert_a_saved_network_predicts_by_itself(method, problem: Problem) -> None:
    network, other = fitted(method, problem), method.network(problem, SETTINGS, 5)
    other.load_state_dict(network.state_dict())
    for a, b in zip(network(problem.graph), other.eval()(problem.graph), strict=True):
        assert torch.equal(a, b)


def assert_only_training_labels_are_read(method, problem: Problem) -> None:
    """Labels of other nodes are changed to another class, and the test part is taken away."""
    task = problem.task
    labels = (task.labels + 1) % (2 if task.multilabel else task.outputs)
    labels[task.parts["train"]] = task.labels[task.parts["train"]]
    assert not torch.equal(labels, task.labels)
    parts = {"train": task.parts["train"], "val": task.parts["val"]}
    changed = Problem(problem.graph, replace(task, labels=labels, parts=parts))
    assert torch.equal(*(outputs(method, p)[0] for p in (problem, changed)))


def groups(size: int = 60, classes: int = 3, *, several: bool = False, seed: int = 0) -> Problem:
    """People like things of their own class; the last person likes nothing and nobody likes the last thing.

    Things have a noisy feature of their class, people have none that helps. With `several`, label 0 and label 1 of a
    person are drawn apart, and things of class c are liked by those who have label c.
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(size) % classes
    marks = rng.integers(0, 2, (size, 2))
    things = np.arange(classes * 8) % classes
    fits = marks[:, things % 2] > 0 if several else labels[:, None] == things
    likes = rng.random((size, len(things))) < np.where(fits, 0.5, 0.03)
    likes[-1], likes[:, -1] = False, False
    people, liked = np.nonzero(likes)
    features = {
        "person": rng.standard_normal((size, 2)).astype(np.float32),
        "thing": (things[:, None] == np.arange(classes))
        + rng.normal(0, 0.2, (len(things), classes)).astype(np.float32),
    }
    edges = {("person", "likes", "thing"): [people, liked]}
    graph = HeteroGraph.build({"person": size, "thing": len(things)}, edges, features)
    order = rng.permutation(size)
    parts = {"train": order[: size // 2], "val": order[size // 2 : -5], "test": order[-5:]}
    return Problem(graph, NodeClassification.build("person", marks if several else labels, **parts))


def score(method, problem: Problem) -> float:
    return float(problem.task.scores(outputs(method, problem), "val")["accuracy"])


def lacking_a_class(problem: Problem) -> Problem:
    """No training node has class 1."""
    train = problem.task.parts["train"]
    parts = {**problem.task.parts, "train": train[problem.task.labels[train] != 1]}
    return Problem(problem.graph, replace(problem.task, parts=parts))


def world_of_labels(*, several: bool = False) -> Problem:
    """The small world with three classes, or two labels, on nodes of a; the last one is isolated."""
    labels = np.arange(10) % 3
    marks = np.stack([labels == 0, labels > 0], axis=1).astype(int)
    task = NodeClassification.build("a", marks if several else labels, train=[0, 1, 2, 3, 4], val=[5, 6, 9], test=[7])
    return Problem(small_world().graph(), task)


def numbers(problem: Problem, columns: int = 2, **options: str) -> Problem:
    """The network of `groups`, whose people have numbers that their class tells."""
    task, rng = problem.task, np.random.default_rng(0)
    values = (
        100
        + task.labels.numpy()[:, None] * np.array([10, -3])[:columns]
        + rng.normal(0, 1, (len(task.labels), columns))
    )
    return Problem(problem.graph, NodeRegression.build(task.target, values, **task.parts, **options))


def assert_only_training_numbers_are_read(method, problem: Problem) -> None:
    """Numbers of other nodes are changed, and the test part is taken away."""
    task = problem.task
    values = task.values + 7
    values[task.parts["train"]] = task.values[task.parts["train"]]
    parts = {"train": task.parts["train"], "val": task.parts["val"]}
    changed = Problem(problem.graph, replace(task, values=values, parts=parts))
    assert torch.equal(*(outputs(method, p)[0] for p in (problem, changed)))
