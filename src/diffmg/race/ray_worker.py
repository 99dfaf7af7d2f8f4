"""What a Ray worker does: it keeps the data of a race, and trains one trial at a time with one thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diffmg.engine.device import on_host
from diffmg.race.field import Field
from diffmg.race.ray_cluster import ray_package
from diffmg.race.trial import Outcome, Trial, train

_FIELDS: dict[tuple[str, str], Field] = {}
"""The field of the race, by its reference and device: read once for all trials of this process."""


def train_trial(field: Sequence[Any], kind: str, trial: Trial) -> Outcome:
    """Carry a trial out on a field, given as the reference to it in a list, so that Ray does not read it every time."""
    torch.set_num_threads(1)
    device = _device(kind)
    with threadpool_limits(1):
        return train(_field(field[0], device).on(trial.fold), trial)


def on_device(field: Field, device: torch.device | str) -> Field:
    """The same field on another device."""
    problem, folds = field.problem.to(device), field.folds
    if folds is None:
        return Field(problem)
    tasks = tuple(task.to(device) for task in folds.tasks)
    return Field(problem, replace(folds, tasks=tasks, whole=folds.whole.to(device)))


def writable(field: Field) -> Field:
    """The same field with arrays of its own: those that Ray hands out are shared and cannot be written."""
    graph = field.problem.graph
    adjacency = {relation: matrix.copy() for relation, matrix in graph.adjacency.items()}
    ids = {node_type: known.copy() for node_type, known in graph.ids.items()}
    problem = replace(field.problem, graph=replace(graph, adjacency=adjacency, ids=ids))
    return replace(field, problem=problem)


def _field(reference: Any, device: str) -> Field:
    key = (reference.hex(), device)
    if key not in _FIELDS:
        if any(known != key[0] for known, _ in _FIELDS):
            _FIELDS.clear()
        _FIELDS[key] = on_device(writable(ray_package().get(reference)), device)
    return _FIELDS[key]


def _device(kind: str) -> str:
    """The device of this trial: the host, or the card that Ray assigned to it.

    A process outlives its trial and may be given another card for the next one, so it has to see all of them.
    """
    if on_host(torch.device(kind)):
        return kind
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    card = torch.device(f"{kind}:{ray_package().get_gpu_ids()[0]}")
    torch.accelerator.set_device_index(card)
    return str(card)
