"""The vectors that a model has for nodes of its target types, files of them, and who is near whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from diffmg.core import DiffmgError, Task, unknown
from diffmg.core.files import write_atomically
from diffmg.graph.network import HeteroGraph
from diffmg.methods.ensemble import EnsembleNetwork
from diffmg.tasks.answers import Answers, free_names
from diffmg.tasks.problem import Problem
from diffmg.tasks.top_items import TopItems


@dataclass(frozen=True, eq=False)
class Vectors:
    """A vector for each of some nodes of one type; numpy takes it as an array."""

    node_type: str
    ids: NDArray[Any]
    values: NDArray[np.float32]
    """(nodes, columns)"""

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def of(self, graph: HeteroGraph, ids: ArrayLike) -> Vectors:
        """Those of these nodes, if the vectors of all nodes are here."""
        rows = graph.index_of(self.node_type, ids)
        return Vectors(self.node_type, self.ids[rows], self.values[rows])

    @property
    def head(self) -> str:
        """What a column of whole vectors is called."""
        return free_names(("vector",), (self.node_type,))[0]

    def answers(self) -> Answers:
        """As a table: the id, then a column for each number."""
        names = free_names([f"v{number}" for number in range(self.values.shape[1])], (self.node_type,))
        columns = dict(zip(names, self.values.T, strict=True))
        return Answers({self.node_type: self.ids} | columns, frozenset(columns))

    def to_arrow(self) -> pa.Table:
        """As a table of ids and lists of numbers."""
        lists = pa.FixedSizeListArray.from_arrays(pa.array(self.values.ravel()), self.values.shape[1])
        ids = Answers({"id": self.ids}).to_arrow().column("id")
        return pa.table({self.node_type: ids, self.head: lists})

    def write(self, path: Path | str) -> None:
        """Write a file by its ending: `.csv`, `.parquet`, `.jsonl`, or `.npy` with records of `id` and `vector`."""
        write = WRITERS[check_vector_ending(path)]
        write_atomically(Path(path), lambda temporary: write(self, temporary))

    def __repr__(self) -> str:
        return f"Vectors({len(self)} of {self.node_type}, {self.values.shape[1]} columns)"


def check_vector_ending(path: Path | str) -> str:
    """The ending of a file of vectors; raises if there is no such kind."""
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise unknown("ending of a file of vectors:", ending, WRITERS)
    return ending


def _write_records(vectors: Vectors, path: Path) -> None:
    ids = vectors.ids.astype(str) if vectors.ids.dtype.kind == "O" else vectors.ids
    records = np.empty(len(vectors), [("id", ids.dtype), ("vector", np.float32, (vectors.values.shape[1],))])
    records["id"], records["vector"] = ids, vectors.values
    with path.open("wb") as file:
        np.save(file, records, allow_pickle=False)


def _write_lines(vectors: Vectors, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for node, row in zip(vectors.ids.tolist(), vectors.values, strict=True):
            line = {vectors.node_type: node, vectors.head: row.tolist()}
            file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


WRITERS: Mapping[str, Callable[[Vectors, Path], object]] = {
    ".csv": lambda vectors, path: path.write_bytes(vectors.answers().to_csv().encode()),
    ".parquet": lambda vectors, path: parquet.write_table(vectors.to_arrow(), path),
    ".jsonl": _write_lines,
    ".npy": _write_records,
}


def target_type(task: Task, given: str | None) -> str:
    """The target type that is meant: the given one, or the last, which is that of a recommendation's items."""
    if given is not None and given not in task.target_types:
        raise unknown("target type", given, task.target_types)
    return given or task.target_types[-1]


@torch.no_grad()
def vectors_of(network: nn.Module, outputs: tuple[Tensor, ...], problem: Problem) -> dict[str, Vectors]:
    """By target type: the outputs of two towers, or what the head of a network reads."""
    task, graph = problem.task, problem.graph
    found = (before_head(network, problem),) if task.outputs else outputs
    return {
        t: Vectors(t, graph.ids_of(t), np.asarray(z.float().numpy(force=True)))
        for t, z in zip(task.target_types, found, strict=True)
    }


def before_head(network: nn.Module, problem: Problem) -> Tensor:
    """What the head of a network reads, (nodes, columns); of an ensemble, that of its members side by side.

    Each member's vectors are scaled to a mean square length that is its share of the votes, so that none drowns others.
    """
    if not isinstance(network, EnsembleNetwork):
        found = _read_by_head(network, problem)
        if found is None:
            raise DiffmgError(
                "vectors need a network with a representation before its head, but got a method without one; "
                "fit a method that learns representations, such as `auto` or `gcn`"
            )
        return found
    read = [(w, _read_by_head(member, problem)) for member, w in zip(network.members, network.weights, strict=True)]
    kept = [(w, z) for w, z in read if z is not None and w > 0]
    if not kept:
        raise DiffmgError(f"vectors need a representation before the head, but got {len(read)} members without one")
    total = sum(w for w, _ in kept)
    return torch.cat([_scaled(z, w / total) for w, z in kept], dim=1)


def _scaled(z: Tensor, share: float) -> Tensor:
    return z * (share / z.square().sum(dim=1).mean().clamp(min=1e-12)).sqrt()


def _read_by_head(network: nn.Module, problem: Problem) -> Tensor | None:
    """The input of a network's head, seen while it computes; None for a network without a head."""
    head = getattr(network, "head", None)
    if not isinstance(head, nn.Module):
        return None
    seen: list[Tensor] = []
    hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    try:
        network.eval()(problem.graph)
    finally:
        hook.remove()
    return seen[0]


def similar_to(vectors: Vectors, graph: HeteroGraph, ids: ArrayLike | None, k: int) -> Answers:
    """The k nearest other nodes by cosine, nearest first; the nearness to a vector of zeros is 0."""
    if k < 1:
        raise DiffmgError(f"`k >= 1` must hold, but got k={k}")
    count, node_type = len(vectors), vectors.node_type
    rows = np.arange(count) if ids is None else graph.index_of(node_type, ids)
    unit = nn.functional.normalize(torch.from_numpy(vectors.values), dim=1)
    itself = sp.identity(count, format="csr", dtype=np.int8)
    top = TopItems(
        lambda some, others: unit[some] @ unit[others].T, count, min(k, max(1, count - 1)), unit.device, itself
    )
    others, cosines = top.of(rows)
    shown = cosines > -np.inf
    ranks = np.broadcast_to(np.arange(1, shown.shape[1] + 1), shown.shape)
    nodes = np.broadcast_to(rows[:, None], shown.shape)
    names = free_names(("rank", "similar", "cosine"), (node_type,))
    found = ranks[shown], vectors.ids[others[shown]], cosines[shown]
    return Answers({node_type: vectors.ids[nodes[shown]], **dict(zip(names, found, strict=True))})
