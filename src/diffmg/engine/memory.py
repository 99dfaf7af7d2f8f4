"""Estimates of the memory a search or a training takes, before it starts."""

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
"""The share of free memory that may be used."""
WORKSPACES = 2**28
"""Bytes that libraries reserve on a GPU as workspaces of the streams in use."""
FUSED = {"last": 0, "mean": 2, "concat": 6, "attention": 12}
"""By how the target's states are fused, the copies of each of them that a training holds."""
COLUMNS = (0, 32, 16, 8, 4)
"""Numbers of columns at a time to try, fastest first; 0 is all."""


@dataclass(frozen=True)
class Needs:
    """Peak memory in bytes, by what it holds."""

    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        return ", ".join(f"{name} {in_words(size)}" for name, size in self.parts.items())


def needs(problem: Problem, settings: Settings, depth: int, device: torch.device, *, search: bool) -> Needs:
    """Estimate the peak memory of a search for meta graphs of `depth` states, or of training the largest of them."""
    graph, towers = problem.graph, len(problem.task.target_types)
    nodes = sum(graph.num_nodes.values())
    state = 4 * nodes * settings.dim * towers
    beside = [graph.num_nodes[t] for t in graph.features] if settings.vectors else []
    tables = 1 if settings.shared_tables else towers
    weights = 4 * settings.dim * tables * sum([*beside, *(graph.inputs(t) for t in graph.schema.node_types)])
    columns = min(graph.engine.columns or settings.dim, settings.dim)
    backend = Backend(device, graph.engine)
    states = 2 * depth if search else depth + 1
    return Needs(
        {
            "network": _network(graph, backend, 1 if search or _as_in_the_paper(settings) else 2),
            "parameters, gradients and moments": weights * (4 if search else 6),
            "state 0 and its gradient": state * (4 if search else 6),
            "other states": states * state * backend.state_bytes // 4 * columns // settings.dim,
            "outputs and scores": _outputs(problem.task, graph, settings.dim),
        }
        | ({} if search or settings.states == "last" else {"fused states": _fused(problem, settings, depth)})
        | ({"the library's workspaces": WORKSPACES} if backend.accelerated else {})
    )


def fit_engine_to_memory(
    problem: Problem, settings: Settings, depth: int, device: torch.device, *, search: bool, training: bool
) -> Engine:
    """The engine's switches with which the wanted phases fit: fewer columns at a time where memory is short.

    Raises if even the fewest columns do not fit.
    """
    free, engine = free_bytes(device), problem.graph.engine
    tried = [engine] if engine.columns else [replace(engine, columns=c) for c in COLUMNS if c < settings.dim]
    for option in tried:
        candidate = problem.to(problem.graph.device, option)
        phases = [phase for phase, wanted in ((True, search), (False, training)) if wanted]
        estimates = [needs(candidate, settings, depth, device, search=phase) for phase in phases]
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
    """A number of bytes as text, in GB, MB or kB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.1f} kB"


def _as_in_the_paper(settings: Settings) -> bool:
    """Whether messages are aggregated by the network's own matrices."""
    return settings.aggregate == "paper" and settings.self_loops


def _network(graph: HeteroGraph, backend: Backend, copies: int = 1) -> int:
    """Bytes of both directions of every relation, twice where the fused kernels keep a copy, and of the features.

    `copies`: 2 where other matrices than the network's own are used.
    """
    copies *= 2 if backend.accelerated and graph.engine.fused else 1
    matrices = [p.matrix for p in graph.propagation.values()]
    features = [_both_ways(x) if isinstance(x, FixedMatrix) else 4 * x.numel() for x in graph.features.values()]
    return copies * sum(map(_both_ways, matrices)) + sum(features)


def _both_ways(matrix: FixedMatrix) -> int:
    """Bytes of a matrix and its transpose: indices, values and row pointers."""
    return 2 * 8 * matrix.forward.values().numel() + 4 * sum(matrix.shape)


def _fused(problem: Problem, settings: Settings, depth: int) -> int:
    """Bytes of the target rows of all states while they are projected and fused."""
    rows = sum(problem.graph.num_nodes[t] for t in problem.task.target_types)
    return 4 * rows * settings.dim * (depth + 1) * FUSED[settings.states]


def _outputs(task: Task, graph: HeteroGraph, dim: int) -> int:
    """Bytes of the target rows in norm, activation and head, and of a few numbers per labelled node or pair."""
    rows = sum(graph.num_nodes[t] for t in task.target_types)
    return 4 * rows * (6 * dim + 3 * task.outputs) + 40 * (task.size("train") + task.size("val"))
