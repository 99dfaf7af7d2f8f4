"""How much memory a search or a training will take, before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from diffmg.core import DiffmgError, Engine, Settings, Task
from diffmg.engine.backend import Backend
from diffmg.engine.device import free_bytes
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.problem import Problem

SPARE = 0.9
"""The share of the free memory that is counted on."""
WORKSPACES = 2**28
"""What libraries keep on a GPU for the streams in use."""
COLUMNS = (0, 32, 16, 8, 4)
"""Columns at a time that are tried, fastest first."""


@dataclass(frozen=True)
class Needs:
    """Bytes by what they hold, at the moment when most is held."""

    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        return ", ".join(f"{name} {in_words(size)}" for name, size in self.parts.items())


def needs(problem: Problem, settings: Settings, depth: int, device: torch.device, *, search: bool) -> Needs:
    """About what a search for meta graphs of `depth` states, or a training of the largest of them, holds at most."""
    graph, towers = problem.graph, len(problem.task.target_types)
    nodes = sum(graph.num_nodes.values())
    state = 4 * nodes * settings.dim * towers
    weights = 4 * settings.dim * towers * sum(graph.inputs(t) for t in graph.schema.node_types)
    columns = min(graph.engine.columns or settings.dim, settings.dim)
    backend = Backend(device, graph.engine)
    held = 2 * depth if search else depth + 1
    return Needs(
        {
            "network": _network(graph, backend),
            "parameters, gradients and moments": weights * (4 if search else 6),
            "state 0 and its gradient": state * (4 if search else 6),
            "other states": held * state * backend.state_bytes // 4 * columns // settings.dim,
            "outputs and scores": _outputs(problem.task, graph, settings.dim),
        }
        | ({"the library's workspaces": WORKSPACES} if backend.accelerated else {})
    )


def fit_engine_to_memory(
    problem: Problem, settings: Settings, depth: int, device: torch.device, *, search: bool, training: bool
) -> Engine:
    """The engine's switches with which what is wanted fits: fewer columns at a time where memory is short.

    Raises where it does not fit even so.
    """
    free, engine = free_bytes(device), problem.graph.engine
    tried = [engine] if engine.columns else [replace(engine, columns=c) for c in COLUMNS if c < settings.dim]
    for option in tried:
        there = problem.to(problem.graph.device, option)
        phases = [phase for phase, wanted in ((True, search), (False, training)) if wanted]
        estimates = [needs(there, settings, depth, device, search=phase) for phase in phases]
        largest = max(estimates, key=lambda estimate: estimate.total, default=Needs({}))
        if free is None or largest.total <= SPARE * free:
            return option
    what = "search" if search and largest == estimates[0] else "training"
    raise DiffmgError(
        f"the {what} must fit into {in_words(free or 0)} of free memory ({device.type}), "
        f"but got an estimate of {in_words(largest.total)} even with {tried[-1].columns or settings.dim} columns at a "
        f"time ({largest}); lower dim ({settings.dim}) or the depth ({depth}), give types without features "
        "a few, or use a device with more memory"
    )


def in_words(size: int) -> str:
    """Bytes with a unit people read."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.1f} kB"


def _network(graph: HeteroGraph, backend: Backend) -> int:
    """Both directions of every relation, twice where the fused kernels have tables of their own, and the features."""
    copies = 2 if backend.accelerated and graph.engine.fused else 1
    matrices = [p.matrix for p in graph.propagation.values()]
    features = [_both_ways(x) if isinstance(x, FixedMatrix) else 4 * x.numel() for x in graph.features.values()]
    return copies * sum(map(_both_ways, matrices)) + sum(features)


def _both_ways(matrix: FixedMatrix) -> int:
    """Indices and values of a matrix and its transpose, and where their rows start."""
    return 2 * 8 * matrix.forward.values().numel() + 4 * sum(matrix.shape)


def _outputs(task: Task, graph: HeteroGraph, dim: int) -> int:
    """What norm, activation and head hold of the target rows, and a few numbers per labelled node or pair."""
    rows = sum(graph.num_nodes[t] for t in task.target_types)
    return 4 * rows * (6 * dim + 3 * task.outputs) + 40 * (task.size("train") + task.size("val"))
