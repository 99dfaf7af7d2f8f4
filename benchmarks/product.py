"""The sparse product alone: the fused kernel beside the library's CSR product, and the share of the copy bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.floor import ceilings
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import Link, MetaGraph
from diffmg.core.options import check_rules, check_types
from diffmg.core.schema import Relation, Schema
from diffmg.graph.aggregation import Propagation
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix

LINK = Relation("node", "links", "node")
CHECKED = 1000
"""Rows compared with a product in float64."""


@dataclass(frozen=True)
class ProductOptions:
    """The size of the product and how often it is timed."""

    nodes: int = 10_000_000
    degree: int = 20
    """Edges per node."""
    dim: int = 64
    repeats: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        rules = {f"{name} >= 1": getattr(self, name) >= 1 for name in ("nodes", "degree", "dim", "repeats")}
        check_rules(self, rules | {"nodes * degree < 2**31": self.nodes * self.degree < 2**31})


def measure_product(options: ProductOptions, device: torch.device) -> dict[str, Any]:
    """Seconds of each implementation of `mean over neighbours`, with the bytes it must gather."""
    if device.type != "cuda":
        raise DiffmgError(
            f"the fused product needs a GPU, but got {device.type!r}; on a CPU the library's product is used"
        )
    draw = torch.Generator(device).manual_seed(options.seed)
    matrix = _matrix(options, draw)
    x = torch.randn(options.nodes, options.dim, device=device, generator=draw)
    ways = {"library, float32": _library(matrix, x), "library, bfloat16": _library(matrix.bfloat16(), x.bfloat16())}
    for storage in ("float32", "bfloat16"):
        ways[f"fused, {storage}"] = _fused(matrix, x, getattr(torch, storage))
    exact = _exact(matrix, x)
    bandwidth = ceilings(device)["copy_bytes_per_second"]
    results = {name: _measured(way, exact, options, bandwidth) for name, way in ways.items()}
    half, library = results["fused, bfloat16"]["median"], results["library, float32"]["median"]
    return {
        "edges": options.nodes * options.degree,
        "copy_bytes_per_second": bandwidth,
        "ways": results,
        "ratio": library / half,
        "ratio_same_storage": results["library, bfloat16"]["median"] / half,
        "ratio_float32": library / results["fused, float32"]["median"],
    }


def _matrix(options: ProductOptions, draw: torch.Generator) -> Tensor:
    """The mean over `degree` random neighbours of each node."""
    edges = options.nodes * options.degree
    pointer = torch.arange(0, edges + 1, options.degree, dtype=torch.int32, device=draw.device)
    columns = torch.randint(options.nodes, (edges,), dtype=torch.int32, device=draw.device, generator=draw)
    columns = columns.view(-1, options.degree).sort(dim=1).values.flatten()
    values = torch.full((edges,), 1 / options.degree, device=draw.device)
    size = (options.nodes, options.nodes)
    return torch.sparse_csr_tensor(pointer, columns, values, size, check_invariants=False)


def _library(matrix: Tensor, x: Tensor) -> Callable[[], Tensor]:
    return lambda: matrix @ x


def _fused(matrix: Tensor, x: Tensor, storage: torch.dtype) -> Callable[[], Tensor]:
    """The engine's own product: a meta graph of one link along one relation."""
    from diffmg.engine.fused import pack_metagraphs, propagate
    from diffmg.engine.layout import kernel_tables

    propagation = Propagation(FixedMatrix(matrix, matrix), None)
    graph = HeteroGraph(Schema(("node",), (LINK,)), {"node": len(x)}, {}, {LINK: propagation}, {})
    tables = kernel_tables(graph)
    packed = pack_metagraphs([MetaGraph.of("node", {Link(1, 0): LINK})], tables)
    state = x.to(storage).unsqueeze(0)
    return lambda: propagate(state, packed, None, tables, storage)[0]


def _exact(matrix: Tensor, x: Tensor) -> Tensor:
    """The first rows of the product, in float64."""
    degree = int(matrix.crow_indices()[1])
    rows = min(CHECKED, len(x))
    columns = matrix.col_indices()[: rows * degree].view(rows, degree).long()
    return x.double()[columns].mean(dim=1)


def _measured(way: Callable[[], Tensor], exact: Tensor, options: ProductOptions, bandwidth: float) -> dict[str, float]:
    found = way()
    error = (found[: len(exact)].double() - exact).norm() / exact.norm()
    width = found.element_size()
    gathered = options.nodes * options.degree * options.dim * width
    del found
    seconds = [_seconds(way) for _ in range(options.repeats)]
    middle = median(seconds)
    return {
        "median": middle,
        "low": min(seconds),
        "high": max(seconds),
        "relative_error": float(error),
        "gathered_bytes": gathered,
        "gathered_bytes_per_second": gathered / middle,
        "share_of_copy_bandwidth": gathered / middle / bandwidth,
    }


def _seconds(work: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1000
