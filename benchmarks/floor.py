"""Roofline: the bytes and operations an epoch needs, and the machine's peak rates of both."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from benchmarks.measure import synchronise
from diffmg.core.metagraph import MetaGraph
from diffmg.core.program import compile_program
from diffmg.nn.derived import types_of
from diffmg.tasks.problem import Problem

PASSES = 3
"""Forward and backward of the update, forward of the evaluation."""
COPIED = {"cpu": 2**26, "cuda": 2**30}
"""Elements of the copy that measures bandwidth: far more than the caches hold."""
SIDE = 2048
"""Rows of a matrix product that measures arithmetic."""


def least_work(problem: Problem, metagraphs: Sequence[MetaGraph], dim: int) -> dict[str, int]:
    """Bytes and operations of one retraining epoch, each input of a product read once, each output written once."""
    graph = problem.graph
    size = operations = 0
    for metagraph, types in zip(metagraphs, types_of(metagraphs), strict=True):
        rows = sum(graph.num_nodes[t] for t in types)
        parameters = sum(graph.num_nodes[t] if t not in graph.features else 1 for t in types) * dim
        size += 4 * (PASSES * 2 * rows * dim + 7 * parameters)  # state 0; Adam reads four numbers and writes three
        operations += PASSES * 2 * rows * dim * dim + 12 * parameters
        for step in compile_program(metagraph).steps:
            for product in step.products:
                shape = graph.propagation[product.relation].matrix.shape
                edges = graph.adjacency[product.relation].nnz
                size += PASSES * (8 * edges + 4 * dim * sum(shape))
                operations += PASSES * 2 * edges * dim
    return {"bytes": size, "operations": operations}


def ceilings(device: torch.device) -> dict[str, float]:
    """Bytes per second of a plain copy, read and written counted, and operations per second of a dense product."""
    count = COPIED[device.type]
    source = torch.randn(count, device=device)
    target = torch.empty_like(source)
    square = torch.randn(SIDE, SIDE, device=device)
    return {
        "copy_bytes_per_second": 8 * count / _seconds(lambda: target.copy_(source), device),
        "operations_per_second": 2 * SIDE**3 / _seconds(lambda: square @ square, device),
    }


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    seconds = []
    for _ in range(8):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])
