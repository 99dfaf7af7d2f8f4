"""A task with other labels: those of the nodes that are given decide, and every other label is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from diffmg.core import DiffmgError, Task
from diffmg.tasks.labels import class_numbers, random_split
from diffmg.tasks.node_classification import NodeClassification
from diffmg.tasks.node_task import NodeTask
from diffmg.tasks.numbers import strata
from diffmg.tasks.regression import NodeRegression

VALIDATION = 0.2
"""The share of the given nodes that chooses and does not train."""
Nodes = NDArray[np.int64]


def relabelled(task: Task, nodes: Nodes, labels: ArrayLike, seed: int = 0) -> Task:
    """The same task, trained on `labels` of `nodes` and chosen on a fifth of them, drawn from `seed`.

    No other label is in it, so none can be seen; there is no test part. The order of the nodes does not matter.
    """
    given = np.asarray(labels)
    _check(task, nodes, given)
    order = np.argsort(nodes)
    if isinstance(task, NodeClassification):
        return _classes(task, nodes[order], given[order], seed)
    assert isinstance(task, NodeRegression), "checked above"
    return _numbers(task, nodes[order], given[order], seed)


def _classes(task: NodeClassification, nodes: Nodes, given: NDArray[Any], seed: int) -> NodeClassification:
    if given.ndim == 2:
        known, classes, groups = given.astype(np.int64), list(task.classes), np.zeros(len(nodes), np.int64)
    else:
        known, classes = class_numbers(pa.chunked_array([pa.array(given.tolist())]), "the labels")
        groups = known
    labels = np.full((task.nodes, *known.shape[1:]), -1)
    labels[nodes] = known
    positive = None if task.positive is None else task.classes[task.positive]
    return NodeClassification.build(
        task.target,
        labels,
        **_parts(nodes, groups, seed),
        classes=classes,
        metric=task.metric,
        positive=positive if positive in classes and len(classes) == 2 else None,
        class_weight=_weights(task, classes),
    )


def _weights(task: NodeClassification, classes: list[Any]) -> Any:
    """Weights by class, of the classes that are there."""
    if not isinstance(task.class_weight, tuple):
        return task.class_weight
    return {c: w for c, w in zip(task.classes, task.class_weight, strict=True) if c in classes}


def _numbers(task: NodeRegression, nodes: Nodes, given: NDArray[Any], seed: int) -> NodeRegression:
    rows = given.reshape(len(nodes), -1).astype(float)
    values = np.full((task.nodes, rows.shape[1]), np.nan)
    values[nodes] = rows
    parts = _parts(nodes, strata(rows), seed)
    return NodeRegression.build(task.target, values, **parts, names=task.names, metric=task.metric, loss=task.error)


def _parts(nodes: Nodes, groups: Nodes, seed: int) -> dict[str, Nodes]:
    drawn = random_split(groups, (1 - VALIDATION, VALIDATION, 0.0), seed)
    return {"train": nodes[drawn["train"]], "val": nodes[drawn["val"]]}


def _check(task: Task, nodes: Nodes, labels: NDArray[Any]) -> None:
    if not isinstance(task, NodeTask):
        raise DiffmgError(f"labels by id are for nodes of one type, but got a task of {task.kind}")
    if task.when is not None:
        raise DiffmgError(
            f"labels by id are for networks without times, whose folds may be drawn at random, but got moments of "
            f"{task.target!r}; a race on the problem itself has folds that go forward in time"
        )
    if len(labels) != len(nodes):
        raise DiffmgError(f"there must be one label for each id, {len(nodes)} in all, but got {len(labels)}")
    if len(np.unique(nodes)) != len(nodes):
        raise DiffmgError(f"every id must be given once, but got {len(nodes) - len(np.unique(nodes))} twice")
